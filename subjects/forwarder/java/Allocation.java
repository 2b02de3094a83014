/** What FORWARDER_ALLOCATE has a forwarder do with its heap, so that there is something to collect. */
final class Allocation {
    private static final int SMALLEST = 8;

    /** A received frame as an object, which the collector follows. */
    private static final class Packet {
        int buffer;
        int length;

        Packet(int buffer, int length) {
            this.buffer = buffer;
            this.length = length;
        }
    }

    private enum Kind { BATCH, PACKET, KEPT }

    private final Kind kind;
    private final Packet[] packets;

    private Allocation(Kind kind, int batch) {
        this.kind = kind;
        packets = new Packet[batch];
        for (int n = 0; n < batch; n++) {
            packets[n] = new Packet(0, 0);
        }
    }

    /** Null for a forwarder that allocates nothing. */
    static Allocation of(String name, int batch) {
        switch (name == null || name.isEmpty() ? "none" : name) {
            case "none":
                return null;
            case "batch":
                return new Allocation(Kind.BATCH, batch);
            case "packet":
                return new Allocation(Kind.PACKET, batch);
            case "kept":
                return new Allocation(Kind.KEPT, batch);
            default:
                throw new IllegalArgumentException("FORWARDER_ALLOCATE: expected none, batch, packet or kept, found " + name);
        }
    }

    /** Puts so many received frames on the heap, and both arrays back in place of the ones that were given. */
    void place(int[] buffers, int[] lengths, int number) {
        if (kind == Kind.BATCH) {
            System.arraycopy(grown(buffers, number), 0, buffers, 0, number);
            System.arraycopy(grown(lengths, number), 0, lengths, 0, number);
            return;
        }
        for (int n = 0; n < number; n++) {
            if (kind == Kind.PACKET) {
                packets[n] = new Packet(buffers[n], lengths[n]);
            } else {
                packets[n].buffer = buffers[n];
                packets[n].length = lengths[n];
            }
        }
        for (int n = 0; n < number; n++) {
            buffers[n] = packets[n].buffer;
            lengths[n] = packets[n].length;
        }
    }

    /** An array that grows with what is put into it. */
    private static int[] grown(int[] from, int number) {
        int[] grown = new int[SMALLEST];
        for (int n = 0; n < number; n++) {
            if (n == grown.length) {
                grown = java.util.Arrays.copyOf(grown, 2 * n);
            }
            grown[n] = from[n];
        }
        return grown;
    }
}
