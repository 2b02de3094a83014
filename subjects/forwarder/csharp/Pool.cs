using System.Runtime.CompilerServices;

namespace Forwarder
{
    /// <summary>A received frame, or one to send: the index of its buffer, and its length.</summary>
    internal struct Packet
    {
        public int Index;
        public int Length;
    }

    /// <summary>
    /// Buffers of both devices, outside of the heap that is collected. As a stack, the one that was given back last is used next;
    /// as a ring, the one that was given back first.
    /// </summary>
    internal sealed class Pool
    {
        public const int BufferBytes = 2048;

        private const int PerPage = DmaMemory.HugePageBytes / BufferBytes;

        private readonly Mapping mapping;
        private readonly ulong[] pages;
        private readonly int[] indices;
        private readonly bool isRing;
        private int free;

        /// <summary>Of a ring: the place of the first free index.</summary>
        private int head;

        public Pool(int buffers, bool isRing)
        {
            var memory = new DmaMemory(buffers * BufferBytes);
            mapping = memory.Mapping;
            pages = memory.Pages;
            indices = new int[buffers];
            this.isRing = isRing;
            for (int index = buffers - 1; index >= 0; index--)
            {
                Give(index);
            }
        }

        public bool IsEmpty => free == 0;

        /// <summary>Takes a buffer of a pool that is not empty.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public int Take()
        {
            free--;
            if (!isRing)
            {
                return indices[free];
            }

            int index = indices[head];
            head = head + 1 == indices.Length ? 0 : head + 1;
            return index;
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Give(int index)
        {
            int end = free++;
            if (isRing)
            {
                end += head;
                end = end < indices.Length ? end : end - indices.Length;
            }

            indices[end] = index;
        }

        /// <summary>Bus address of a buffer.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public ulong Address(int index) =>
            pages[(uint)index / PerPage] + (uint)index % PerPage * BufferBytes;

        /// <summary>Increases a byte of the frame in a buffer.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Touch(int index, int place) => mapping.Increase(index * BufferBytes + place);

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Prefetch(int index) => mapping.Prefetch(index * BufferBytes);
    }
}
