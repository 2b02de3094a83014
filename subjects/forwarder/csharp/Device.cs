using System;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;

namespace Forwarder
{
    /// <summary>Descriptors of two words each, and the buffer of each.</summary>
    internal sealed class Ring
    {
        /// <summary>A power of two.</summary>
        public const int Entries = 1024;

        public readonly int[] Buffers = new int[Entries];
        public readonly ulong Address;
        public int Index;

        private readonly Mapping words;

        public Ring()
        {
            var memory = new DmaMemory(Entries * 16);
            words = memory.Mapping;
            Address = memory.Pages[0];
            for (int index = 0; index < Entries; index++)
            {
                // Addresses that no memory has, so that a device that starts too early finds nothing to overwrite.
                Set(index, ulong.MaxValue, ulong.MaxValue);
            }
        }

        /// <summary>The second word of a descriptor, which the device writes last.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public ulong Status(int index) => words.Status(index);

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Set(int index, ulong address, ulong command) => words.Set(index, address, command);
    }

    /// <summary>How a device is used.</summary>
    internal struct Options
    {
        /// <summary>Sent descriptors that are cleaned up at once.</summary>
        public int CleanBatch;

        /// <summary>The first line of each received frame is prefetched.</summary>
        public bool Prefetch;
    }

    /// <summary>An Intel 82599 with one receive and one transmit queue.</summary>
    internal sealed class Device
    {
        private const int Mask = Ring.Entries - 1;
        private const int TimeoutMilliseconds = 10000;

        /// <summary>The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2).</summary>
        private const int FrameBytesMin = 60;

        private const uint Command =
            Registers.TxdEop | Registers.TxdRs | Registers.TxdIfcs | Registers.TxdDext | Registers.TxdDtypData;

        private readonly Mapping registers;
        private readonly Pool pool;
        private readonly Options options;
        private readonly Ring receive = new Ring();
        private readonly Ring transmit = new Ring();
        private int clean;

        /// <summary>Within a received frame whose last buffer has not come yet.</summary>
        private bool isInside;

        public Device(string address, Pool pool, Options options)
        {
            registers = OpenRegisters(address);
            this.pool = pool;
            this.options = options;
            // 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready
            Write(Registers.Eimc, Registers.EimcAllMask);
            Write(Registers.Ctrl, Registers.CtrlRst | Registers.CtrlLrst);
            Await(Registers.Ctrl, Registers.CtrlRst | Registers.CtrlLrst, 0, "reset");
            Thread.Sleep(10);
            Write(Registers.Eimc, Registers.EimcAllMask);
            Await(Registers.Eec, Registers.EecArd, Registers.EecArd, "EEPROM");
            Await(Registers.Rdrxctl, Registers.RdrxctlDmaidone, Registers.RdrxctlDmaidone, "DMA initialisation");
            // 4.6.4
            uint autoc = Read(Registers.Autoc) & ~(Registers.AutocLmsMask | Registers.AutocPmaPmd10gMask);
            Write(Registers.Autoc, autoc | Registers.AutocLms10gSerial | Registers.AutocRestartAn);
            SetUpReceive();
            SetUpTransmit();
            Await(Registers.Links, Registers.LinksUp, Registers.LinksUp, "link");
        }

        /// <summary>Fills an array with received packets. Returns their number.</summary>
        public int RxBatch(Packet[] packets)
        {
            // Fields are loaded again after every volatile access, local variables are not.
            Ring receive = this.receive;
            Pool pool = this.pool;
            int[] buffers = receive.Buffers;
            bool prefetches = options.Prefetch;
            int index = receive.Index;
            int received = 0;
            while (received < packets.Length && !pool.IsEmpty)
            {
                ulong status = receive.Status(index);
                if ((status & Registers.RxdDd) == 0)
                {
                    break;
                }

                int length = (int)(status >> 32) & 0xffff;
                if (IsWhole(status, length))
                {
                    int buffer = buffers[index];
                    if (prefetches)
                    {
                        pool.Prefetch(buffer);
                    }

                    packets[received].Index = buffer;
                    packets[received].Length = length;
                    buffers[index] = pool.Take();
                    received++;
                }

                receive.Set(index, pool.Address(buffers[index]), 0);
                index = (index + 1) & Mask;
            }

            if (index != receive.Index)
            {
                receive.Index = index;
                // One behind: a tail that equals the head would say that the ring is empty.
                Write(Registers.Rdt(0), (uint)(index - 1) & Mask);
            }

            return received;
        }

        /// <summary>Sends so many packets from the front as far as there is room. Returns how many.</summary>
        public int TxBatch(Packet[] packets, int number)
        {
            CleanUp();
            Ring transmit = this.transmit;
            Pool pool = this.pool;
            int[] buffers = transmit.Buffers;
            int clean = this.clean;
            int index = transmit.Index;
            int sent = 0;
            for (; sent < number; sent++)
            {
                int next = (index + 1) & Mask;
                if (next == clean)
                {
                    break;
                }

                uint length = (uint)packets[sent].Length;
                ulong command = Command | length | (ulong)(length << Registers.TxdOlinfoPaylenShift) << 32;
                transmit.Set(index, pool.Address(packets[sent].Index), command);
                buffers[index] = packets[sent].Index;
                index = next;
            }

            transmit.Index = index;
            Write(Registers.Tdt(0), (uint)index);
            return sent;
        }

        /// <summary>Frees what was sent, a batch at a time: only the last descriptor of one is read.</summary>
        public void CleanUp()
        {
            while (((transmit.Index - clean) & Mask) >= options.CleanBatch)
            {
                int last = (clean + options.CleanBatch - 1) & Mask;
                if ((transmit.Status(last) >> 32 & Registers.TxdWbDd) == 0)
                {
                    return;
                }

                for (int n = 0; n < options.CleanBatch; n++)
                {
                    pool.Give(transmit.Buffers[(clean + n) & Mask]);
                }

                clean = (last + 1) & Mask;
            }
        }

        /// <summary>Takes a device from its kernel driver, makes it bus master, and maps BAR 0.</summary>
        private static Mapping OpenRegisters(string address)
        {
            string directory = "/sys/bus/pci/devices/" + address + "/";
            if (File.Exists(directory + "driver/unbind"))
            {
                File.WriteAllText(directory + "driver/unbind", address, Encoding.ASCII);
            }

            using (var config = new FileStream(directory + "config", FileMode.Open, FileAccess.ReadWrite))
            {
                // PCI 3.0, 6.2.2: bit 2 of the command register, at 4.
                config.Seek(4, SeekOrigin.Begin);
                int command = config.ReadByte();
                config.Seek(4, SeekOrigin.Begin);
                config.WriteByte((byte)(command | 1 << 2));
            }

            string resource = directory + "resource0";
            long bytes = new FileInfo(resource).Length;
            return new Mapping(MemoryMappedFile.CreateFromFile(resource, FileMode.Open), bytes);
        }

        /// <summary>
        /// True for a frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer.
        /// </summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        private bool IsWhole(ulong status, int length)
        {
            bool isEnd = (status & Registers.RxdEop) != 0;
            bool wasInside = isInside;
            isInside = !isEnd;
            return isEnd && !wasInside && length >= FrameBytesMin && length <= Pool.BufferBytes;
        }

        private uint Read(uint offset) => registers.Read32(offset);

        private void Write(uint offset, uint value) => registers.Write32(offset, value);

        private void Set(uint offset, uint bits) => Write(offset, Read(offset) | bits);

        private void Clear(uint offset, uint bits) => Write(offset, Read(offset) & ~bits);

        private void Await(uint offset, uint mask, uint value, string step)
        {
            for (int waited = 0; (Read(offset) & mask) != value; waited++)
            {
                if (waited > TimeoutMilliseconds)
                {
                    throw new TimeoutException(step + ": no answer within " + TimeoutMilliseconds + " ms");
                }

                Thread.Sleep(1);
            }
        }

        /// <summary>4.6.7</summary>
        private void SetUpReceive()
        {
            Clear(Registers.Rxctrl, Registers.RxctrlRxen);
            Write(Registers.Rxpbsize(0), Registers.Rxpbsize128kb);
            for (uint n = 1; n < 8; n++)
            {
                Write(Registers.Rxpbsize(n), 0);
            }

            Set(Registers.Hlreg0, Registers.Hlreg0Rxcrcstrp);
            Set(Registers.Rdrxctl, Registers.RdrxctlCrcstrip);
            Set(Registers.Fctrl, Registers.FctrlBam | Registers.FctrlMpe | Registers.FctrlUpe);
            uint split = Read(Registers.Srrctl(0)) & ~(Registers.SrrctlDesctypeMask | Registers.SrrctlBsizepacketMask);
            split |= Registers.SrrctlDesctypeAdvanced | Registers.SrrctlDropEn | Pool.BufferBytes / 1024;
            Write(Registers.Srrctl(0), split);
            WriteRing(receive, Registers.Rdbal(0), Registers.Rdbah(0), Registers.Rdlen(0));
            Write(Registers.Rdh(0), 0);
            Write(Registers.Rdt(0), 0);
            Set(Registers.CtrlExt, Registers.CtrlExtNsDis);
            Clear(Registers.DcaRxctrl(0), Registers.DcaRxctrlReserved12);
            for (int index = 0; index < Ring.Entries; index++)
            {
                receive.Buffers[index] = pool.Take();
                receive.Set(index, pool.Address(receive.Buffers[index]), 0);
            }

            Set(Registers.Rxctrl, Registers.RxctrlRxen);
            Set(Registers.Rxdctl(0), Registers.RxdctlEnable);
            Await(Registers.Rxdctl(0), Registers.RxdctlEnable, Registers.RxdctlEnable, "receive queue");
            // All descriptors but one: with all of them the ring would look empty.
            Write(Registers.Rdt(0), Mask);
        }

        /// <summary>4.6.8</summary>
        private void SetUpTransmit()
        {
            Set(Registers.Hlreg0, Registers.Hlreg0Txcrcen | Registers.Hlreg0Txpaden);
            Write(Registers.Txpbsize(0), Registers.Txpbsize40kb);
            for (uint n = 1; n < 8; n++)
            {
                Write(Registers.Txpbsize(n), 0);
            }

            Write(Registers.Dtxmxszrq, 0xffff);
            Clear(Registers.Rttdcs, Registers.RttdcsArbdis);
            WriteRing(transmit, Registers.Tdbal(0), Registers.Tdbah(0), Registers.Tdlen(0));
            Write(Registers.Tdh(0), 0);
            Write(Registers.Tdt(0), 0);
            // Thresholds as DPDK has them.
            uint thresholds = 36U << Registers.TxdctlPthreshShift | 8U << Registers.TxdctlHthreshShift;
            Write(Registers.Txdctl(0), thresholds | 4U << Registers.TxdctlWthreshShift);
            Write(Registers.Dmatxctl, Registers.DmatxctlTe);
            Set(Registers.Txdctl(0), Registers.TxdctlEnable);
            Await(Registers.Txdctl(0), Registers.TxdctlEnable, Registers.TxdctlEnable, "transmit queue");
        }

        private void WriteRing(Ring ring, uint low, uint high, uint length)
        {
            Write(low, (uint)ring.Address);
            Write(high, (uint)(ring.Address >> 32));
            Write(length, Ring.Entries * 16);
        }
    }
}
