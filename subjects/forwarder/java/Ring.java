import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Descriptors of two words each, and the buffer of each. */
final class Ring {
    /** A power of two. */
    static final int ENTRIES = 1024;
    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final ByteBuffer words;
    /** Of the words in this process. */
    private final long start;
    final long address;
    final int[] buffers = new int[ENTRIES];
    int index;

    Ring() throws IOException {
        Memory memory = Memory.allocate(ENTRIES * 16);
        words = memory.bytes;
        start = Memory.addressOf(words);
        address = memory.pages[0];
        // Addresses that no memory has, so that a device that starts too early finds nothing to overwrite.
        for (int index = 0; index < ENTRIES; index++) {
            set(index, -1L, -1L);
        }
    }

    /** The second word of a descriptor, which the device writes last. */
    long status(int index) {
        if (Helpers.ARE_USED) {
            return Helpers.status(start, index);
        }
        return (long) WORD.getAcquire(words, index * 16 + 8);
    }

    void set(int index, long address, long command) {
        if (Helpers.ARE_USED) {
            Helpers.set(start, index, address, command);
            return;
        }
        words.putLong(index * 16, address);
        words.putLong(index * 16 + 8, command);
    }
}
