import java.io.IOException;
import java.nio.ByteBuffer;

/** Buffers of both devices. The one that was given back last is used next. */
final class Pool {
    static final int BUFFER_BYTES = 2048;
    private static final int PER_PAGE = Memory.HUGE_PAGE_BYTES / BUFFER_BYTES;

    private final Memory memory;
    private final int[] free;
    private int number;

    Pool(int buffers) throws IOException {
        memory = Memory.allocate(buffers * BUFFER_BYTES);
        free = new int[buffers];
        for (int index = buffers - 1; index >= 0; index--) {
            give(index);
        }
    }

    boolean isEmpty() {
        return number == 0;
    }

    int take() {
        return free[--number];
    }

    void give(int index) {
        free[number++] = index;
    }

    long address(int index) {
        return memory.pages[index / PER_PAGE] + (long) (index % PER_PAGE) * BUFFER_BYTES;
    }

    /** Increases a byte of a frame. */
    void touch(int index, int place) {
        ByteBuffer bytes = memory.bytes;
        int at = index * BUFFER_BYTES + place;
        bytes.put(at, (byte) (bytes.get(at) + 1));
    }
}
