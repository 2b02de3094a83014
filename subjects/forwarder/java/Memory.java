import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import sun.misc.Unsafe;

/** DMA memory in huge pages, and the bus address of each of them. */
final class Memory {
    static final int HUGE_PAGE_BYTES = 2 << 20;
    private static final int PAGE_BYTES = 4096;
    /** Entries of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): bits 0 to 54 are the number of the frame. */
    private static final long FRAME_MASK = (1L << 55) - 1;

    private static int files;

    final MappedByteBuffer bytes;
    final long[] pages;

    private Memory(MappedByteBuffer bytes, long[] pages) {
        this.bytes = bytes;
        this.pages = pages;
    }

    /** Maps huge pages for so many bytes. */
    static Memory allocate(int size) throws IOException {
        int number = (size + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES;
        Path path = Path.of("/mnt/huge/forwarder-" + ProcessHandle.current().pid() + "-" + files++);
        MappedByteBuffer bytes;
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            // Mapping a file beyond its end makes it longer; on a hugetlbfs that takes no write.
            bytes = file.map(FileChannel.MapMode.READ_WRITE, 0, (long) number * HUGE_PAGE_BYTES);
        } finally {
            Files.deleteIfExists(path);
        }
        bytes.order(ByteOrder.LITTLE_ENDIAN);
        long start = addressOf(bytes);
        long[] pages = new long[number];
        try (RandomAccessFile pagemap = new RandomAccessFile("/proc/self/pagemap", "r")) {
            byte[] entry = new byte[8];
            for (int page = 0; page < number; page++) {
                // A page has an address only when it is there.
                bytes.put(page * HUGE_PAGE_BYTES, (byte) 0);
                pagemap.seek((start + (long) page * HUGE_PAGE_BYTES) / PAGE_BYTES * 8);
                pagemap.readFully(entry);
                long frame = ByteBuffer.wrap(entry).order(ByteOrder.LITTLE_ENDIAN).getLong() & FRAME_MASK;
                if (frame == 0) {
                    throw new IOException("no physical addresses: run as root");
                }
                pages[page] = frame * PAGE_BYTES;
            }
        }
        return new Memory(bytes, pages);
    }

    /** The address of a buffer in this process, which the library keeps to itself: the one use of Unsafe. */
    static long addressOf(Buffer buffer) throws IOException {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Unsafe unsafe = (Unsafe) field.get(null);
            return unsafe.getLong(buffer, unsafe.objectFieldOffset(Buffer.class.getDeclaredField("address")));
        } catch (ReflectiveOperationException error) {
            throw new IOException("this virtual machine does not tell addresses", error);
        }
    }
}
