/** Accesses to the device through functions in C and JNI, with -Dhelpers=LIBRARY: what a helper costs. */
final class Helpers {
    private static final String LIBRARY = System.getProperty("helpers");
    /** A constant for the compiler, so that it costs nothing where there are none. */
    static final boolean ARE_USED = LIBRARY != null;

    static {
        if (ARE_USED) {
            System.load(LIBRARY);
        }
    }

    private Helpers() {
    }

    static native long status(long ring, int index);

    static native void set(long ring, int index, long address, long command);

    static native int read(long registers, int offset);

    static native void write(long registers, int offset, int value);
}
