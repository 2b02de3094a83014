import java.io.IOException;
import java.nio.ByteBuffer;

/** Buffers of both devices. The one that was given back last is used next, or with a ring the one that was given back first. */
final class Pool {
    static final int BUFFER_BYTES = 2048;
    private static final int PER_PAGE = Memory.HUGE_PAGE_BYTES / BUFFER_BYTES;

    private final Memory memory;
    private final int[] free;
    private final boolean isRing;
    private int number;
    /** Of a ring: the first free index. */
    private int head;

    Pool(int buffers, boolean isRing) throws IOException {
        this.isRing = isRing;
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
        number--;
        if (!isRing) {
            return free[number];
        }
        int index = free[head];
        head = head + 1 == free.length ? 0 : head + 1;
        return index;
    }

    void give(int index) {
        int end = number++;
        if (isRing) {
            end += head;
            end = end < free.length ? end : end - free.length;
        }
        free[end] = index;
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
