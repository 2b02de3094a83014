using System;
using System.Diagnostics;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
#if NETCOREAPP
using System.Runtime.Intrinsics.X86;
#endif

namespace Forwarder
{
    /// <summary>Mapped memory. The only code that uses pointers: every access is checked, unless UNCHECKED is defined.</summary>
    internal sealed unsafe class Mapping
    {
        private readonly byte* start;
        private readonly long bytes;

        /// <summary>Keeps the memory mapped.</summary>
        private readonly MemoryMappedViewAccessor view;

        /// <summary>Maps a file as a whole, for as long as the program runs.</summary>
        public Mapping(MemoryMappedFile file, long bytes)
        {
            view = file.CreateViewAccessor(0, bytes);
            start = null;
            view.SafeMemoryMappedViewHandle.AcquirePointer(ref start);
            this.bytes = bytes;
        }

        /// <summary>Address in this process.</summary>
        public ulong Start => (ulong)start;

        /// <summary>Loads four bytes; nothing that follows is loaded before.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public uint Read32(uint offset)
        {
            Check(offset, sizeof(uint));
#if HELPERS
            return Helpers.helper_read(start, offset);
#else
            return Volatile.Read(ref *(uint*)(start + offset));
#endif
        }

        /// <summary>Stores four bytes, after everything that was stored before.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Write32(uint offset, uint value)
        {
            Check(offset, sizeof(uint));
#if HELPERS
            Helpers.helper_write(start, offset, value);
#else
            Volatile.Write(ref *(uint*)(start + offset), value);
#endif
        }

        /// <summary>Loads the second word of a descriptor; nothing that follows is loaded before.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public ulong Status(int index)
        {
            Check(index * 16 + 8, sizeof(ulong));
#if HELPERS
            return Helpers.helper_status(start, (uint)index);
#else
            return Volatile.Read(ref *(ulong*)(start + index * 16 + 8));
#endif
        }

        /// <summary>Stores a descriptor; a register that is written later tells the device to look.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Set(int index, ulong address, ulong command)
        {
            Check(index * 16, 2 * sizeof(ulong));
#if HELPERS
            Helpers.helper_set(start, (uint)index, address, command);
#else
            *(ulong*)(start + index * 16) = address;
            *(ulong*)(start + index * 16 + 8) = command;
#endif
        }

        /// <summary>Stores a byte.</summary>
        public void Put(long offset, byte value)
        {
            Check(offset, 1);
            start[offset] = value;
        }

        /// <summary>Increases a byte.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Increase(int offset)
        {
            Check(offset, 1);
            start[offset]++;
        }

        /// <summary>Has the line at a place loaded, where the runtime can.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Prefetch(int offset)
        {
#if NETCOREAPP
            if (Sse.IsSupported)
            {
                Sse.Prefetch0(start + offset);
            }
#endif
        }

#if UNCHECKED
        [Conditional("NEVER")]
#endif
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        private void Check(long offset, int size)
        {
            if ((ulong)offset > (ulong)(bytes - size))
            {
                Fail(offset);
            }
        }

        private static void Fail(long offset)
        {
            throw new IndexOutOfRangeException("no byte " + offset + " in the mapping");
        }
    }

#if HELPERS
    /// <summary>Accesses to the device through functions in C: what a helper costs.</summary>
    internal static unsafe class Helpers
    {
        [DllImport("helpers")]
        public static extern ulong helper_status(byte* ring, uint index);

        [DllImport("helpers")]
        public static extern void helper_set(byte* ring, uint index, ulong address, ulong command);

        [DllImport("helpers")]
        public static extern uint helper_read(byte* registers, uint offset);

        [DllImport("helpers")]
        public static extern void helper_write(byte* registers, uint offset, uint value);
    }
#endif

    /// <summary>Huge pages, and the bus address of each of them.</summary>
    internal sealed class DmaMemory
    {
        public const int HugePageBytes = 2 << 20;

        private const int PageBytes = 4096;

        /// <summary>Entries of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): bits 0 to 54 are the frame.</summary>
        private const ulong FrameMask = (1UL << 55) - 1;

        private static int files;

        /// <summary>Maps as many huge pages as so many bytes need.</summary>
        public DmaMemory(int bytes)
        {
            int pages = (bytes + HugePageBytes - 1) / HugePageBytes;
            long size = (long)pages * HugePageBytes;
            string path = "/mnt/huge/forwarder-" + Process.GetCurrentProcess().Id + "-" + files++;
            try
            {
                // A file that is mapped beyond its end becomes longer; a hugetlbfs takes no write.
                MemoryMappedFile file = MemoryMappedFile.CreateFromFile(path, FileMode.CreateNew, null, size);
                Mapping = new Mapping(file, size);
            }
            finally
            {
                File.Delete(path);
            }

            Pages = new ulong[pages];
            using (var pagemap = new FileStream("/proc/self/pagemap", FileMode.Open, FileAccess.Read, FileShare.ReadWrite, 8))
            {
                byte[] entry = new byte[8];
                for (int page = 0; page < pages; page++)
                {
                    // A page has an address only when it is there.
                    Mapping.Put((long)page * HugePageBytes, 0);
                    ulong at = Mapping.Start + (ulong)page * HugePageBytes;
                    pagemap.Seek((long)(at / PageBytes * 8), SeekOrigin.Begin);
                    if (pagemap.Read(entry, 0, 8) != 8)
                    {
                        throw new EndOfStreamException("/proc/self/pagemap has no entry for a huge page");
                    }

                    ulong frame = BitConverter.ToUInt64(entry, 0) & FrameMask;
                    if (frame == 0)
                    {
                        throw new UnauthorizedAccessException("no physical addresses: run as root");
                    }

                    Pages[page] = frame * PageBytes;
                }
            }
        }

        public Mapping Mapping { get; }

        public ulong[] Pages { get; }
    }
}
