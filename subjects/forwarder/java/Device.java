import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;

/** An Intel 82599 with one receive and one transmit queue. */
final class Device {
    private static final VarHandle REGISTER = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long TIMEOUT_MS = 10_000;
    /** The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2). */
    private static final int FRAME_BYTES_MIN = 60;
    private static final int COMMAND = Registers.TXD_EOP | Registers.TXD_RS | Registers.TXD_IFCS | Registers.TXD_DEXT
            | Registers.TXD_DTYP_DATA;
    private static final int MASK = Ring.ENTRIES - 1;

    private final ByteBuffer registers;
    /** Of the registers in this process. */
    private final long start;
    private final Pool pool;
    private final int cleanBatch;
    private final Ring receive = new Ring();
    private final Ring transmit = new Ring();
    private int clean;
    /** Within a received frame whose last buffer has not come yet. */
    private boolean isInside;

    Device(String address, Pool pool, int cleanBatch) throws IOException, InterruptedException {
        this.registers = openRegisters(address);
        this.start = Memory.addressOf(registers);
        this.pool = pool;
        this.cleanBatch = cleanBatch;
        // 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready
        write(Registers.EIMC, Registers.EIMC_ALL_MASK);
        write(Registers.CTRL, Registers.CTRL_RST | Registers.CTRL_LRST);
        await(Registers.CTRL, Registers.CTRL_RST | Registers.CTRL_LRST, 0, "reset");
        Thread.sleep(10);
        write(Registers.EIMC, Registers.EIMC_ALL_MASK);
        await(Registers.EEC, Registers.EEC_ARD, Registers.EEC_ARD, "EEPROM");
        await(Registers.RDRXCTL, Registers.RDRXCTL_DMAIDONE, Registers.RDRXCTL_DMAIDONE, "DMA initialisation");
        // 4.6.4
        int autoc = read(Registers.AUTOC) & ~(Registers.AUTOC_LMS_MASK | Registers.AUTOC_PMA_PMD_10G_MASK);
        write(Registers.AUTOC, autoc | Registers.AUTOC_LMS_10G_SERIAL | Registers.AUTOC_RESTART_AN);
        setUpReceive();
        setUpTransmit();
        await(Registers.LINKS, Registers.LINKS_UP, Registers.LINKS_UP, "link");
    }

    /** Takes a device from its kernel driver, makes it bus master, and maps BAR 0. */
    private static ByteBuffer openRegisters(String address) throws IOException {
        String directory = "/sys/bus/pci/devices/" + address + "/";
        try (FileOutputStream unbind = new FileOutputStream(directory + "driver/unbind")) {
            unbind.write(address.getBytes(StandardCharsets.US_ASCII));
        } catch (FileNotFoundException none) {
            // No driver has it.
        }
        try (RandomAccessFile config = new RandomAccessFile(directory + "config", "rw")) {
            // PCI 3.0, 6.2.2: bit 2 of the command register, at 4.
            config.seek(4);
            int command = config.read();
            config.seek(4);
            config.write(command | 1 << 2);
        }
        try (RandomAccessFile resource = new RandomAccessFile(directory + "resource0", "rw")) {
            ByteBuffer registers = resource.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, resource.length());
            return registers.order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    private int read(int offset) {
        if (Helpers.ARE_USED) {
            return Helpers.read(start, offset);
        }
        return (int) REGISTER.getAcquire(registers, offset);
    }

    /** Writes a register, after all that was written to DMA memory before. */
    private void write(int offset, int value) {
        if (Helpers.ARE_USED) {
            Helpers.write(start, offset, value);
            return;
        }
        REGISTER.setRelease(registers, offset, value);
    }

    private void set(int offset, int bits) {
        write(offset, read(offset) | bits);
    }

    private void clear(int offset, int bits) {
        write(offset, read(offset) & ~bits);
    }

    private void await(int offset, int mask, int value, String step) throws IOException, InterruptedException {
        for (long waited = 0; (read(offset) & mask) != value; waited++) {
            if (waited > TIMEOUT_MS) {
                throw new IOException(step + ": no answer within " + TIMEOUT_MS + " ms");
            }
            Thread.sleep(1);
        }
    }

    /** 4.6.7 */
    private void setUpReceive() throws IOException, InterruptedException {
        clear(Registers.RXCTRL, Registers.RXCTRL_RXEN);
        write(Registers.rxpbsize(0), Registers.RXPBSIZE_128KB);
        for (int n = 1; n < 8; n++) {
            write(Registers.rxpbsize(n), 0);
        }
        set(Registers.HLREG0, Registers.HLREG0_RXCRCSTRP);
        set(Registers.RDRXCTL, Registers.RDRXCTL_CRCSTRIP);
        set(Registers.FCTRL, Registers.FCTRL_BAM | Registers.FCTRL_MPE | Registers.FCTRL_UPE);
        int split = read(Registers.srrctl(0)) & ~(Registers.SRRCTL_DESCTYPE_MASK | Registers.SRRCTL_BSIZEPACKET_MASK);
        write(Registers.srrctl(0), split | Registers.SRRCTL_DESCTYPE_ADVANCED | Registers.SRRCTL_DROP_EN
                | Pool.BUFFER_BYTES / 1024);
        writeRing(receive, Registers.rdbal(0), Registers.rdbah(0), Registers.rdlen(0));
        write(Registers.rdh(0), 0);
        write(Registers.rdt(0), 0);
        set(Registers.CTRL_EXT, Registers.CTRL_EXT_NS_DIS);
        clear(Registers.dcaRxctrl(0), Registers.DCA_RXCTRL_RESERVED_12);
        for (int index = 0; index < Ring.ENTRIES; index++) {
            int buffer = pool.take();
            receive.buffers[index] = buffer;
            receive.set(index, pool.address(buffer), 0);
        }
        set(Registers.RXCTRL, Registers.RXCTRL_RXEN);
        set(Registers.rxdctl(0), Registers.RXDCTL_ENABLE);
        await(Registers.rxdctl(0), Registers.RXDCTL_ENABLE, Registers.RXDCTL_ENABLE, "receive queue");
        // All descriptors but one: with all of them the ring would look empty.
        write(Registers.rdt(0), MASK);
    }

    /** 4.6.8 */
    private void setUpTransmit() throws IOException, InterruptedException {
        set(Registers.HLREG0, Registers.HLREG0_TXCRCEN | Registers.HLREG0_TXPADEN);
        write(Registers.txpbsize(0), Registers.TXPBSIZE_40KB);
        for (int n = 1; n < 8; n++) {
            write(Registers.txpbsize(n), 0);
        }
        write(Registers.DTXMXSZRQ, 0xffff);
        clear(Registers.RTTDCS, Registers.RTTDCS_ARBDIS);
        writeRing(transmit, Registers.tdbal(0), Registers.tdbah(0), Registers.tdlen(0));
        write(Registers.tdh(0), 0);
        write(Registers.tdt(0), 0);
        // Thresholds as DPDK has them.
        write(Registers.txdctl(0), 36 << Registers.TXDCTL_PTHRESH_SHIFT | 8 << Registers.TXDCTL_HTHRESH_SHIFT
                | 4 << Registers.TXDCTL_WTHRESH_SHIFT);
        write(Registers.DMATXCTL, Registers.DMATXCTL_TE);
        set(Registers.txdctl(0), Registers.TXDCTL_ENABLE);
        await(Registers.txdctl(0), Registers.TXDCTL_ENABLE, Registers.TXDCTL_ENABLE, "transmit queue");
    }

    private void writeRing(Ring ring, int low, int high, int length) {
        write(low, (int) ring.address);
        write(high, (int) (ring.address >>> 32));
        write(length, Ring.ENTRIES * 16);
    }

    /** True for a frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer. */
    private boolean isWhole(long status, int length) {
        boolean isEnd = (status & Registers.RXD_EOP) != 0;
        boolean wasInside = isInside;
        isInside = !isEnd;
        return isEnd && !wasInside && length >= FRAME_BYTES_MIN && length <= Pool.BUFFER_BYTES;
    }

    /** Fills both arrays with received frames: the index of the buffer and the length of each. Returns their number. */
    int rxBatch(int[] buffers, int[] lengths) {
        int index = receive.index;
        int received = 0;
        while (received < buffers.length && !pool.isEmpty()) {
            long status = receive.status(index);
            if ((status & Registers.RXD_DD) == 0) {
                break;
            }
            int length = (int) (status >>> 32) & 0xffff;
            if (isWhole(status, length)) {
                buffers[received] = receive.buffers[index];
                lengths[received] = length;
                receive.buffers[index] = pool.take();
                received++;
            }
            receive.set(index, pool.address(receive.buffers[index]), 0);
            index = index + 1 & MASK;
        }
        if (index != receive.index) {
            receive.index = index;
            // One behind: a tail that equals the head would say that the ring is empty.
            write(Registers.rdt(0), index - 1 & MASK);
        }
        return received;
    }

    /** Frees what was sent, a batch at a time: only the last descriptor of one is read. */
    void cleanUp() {
        while ((transmit.index - clean & MASK) >= cleanBatch) {
            int last = clean + cleanBatch - 1 & MASK;
            if ((transmit.status(last) >>> 32 & Registers.TXD_WB_DD) == 0) {
                return;
            }
            for (int n = 0; n < cleanBatch; n++) {
                pool.give(transmit.buffers[clean + n & MASK]);
            }
            clean = last + 1 & MASK;
        }
    }

    /** Sends so many frames from the front as far as there is room. Returns how many. */
    int txBatch(int[] buffers, int[] lengths, int number) {
        cleanUp();
        int index = transmit.index;
        int sent = 0;
        for (; sent < number; sent++) {
            int next = index + 1 & MASK;
            if (next == clean) {
                break;
            }
            int length = lengths[sent];
            long command = Integer.toUnsignedLong(COMMAND | length) | (long) length << Registers.TXD_OLINFO_PAYLEN_SHIFT + 32;
            transmit.set(index, pool.address(buffers[sent]), command);
            transmit.buffers[index] = buffers[sent];
            index = next;
        }
        transmit.index = index;
        write(Registers.tdt(0), index);
        return sent;
    }
}
