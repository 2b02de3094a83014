/**
 * Forwards frames between two ports, both ways: Forwarder ADDRESS ADDRESS.
 *
 * <p>README.md one directory up describes the options, which are the same in every language. Java has no prefetch, so that
 * FORWARDER_PREFETCH does nothing.
 */
public final class Forwarder {
    private static final int NO_TOUCH = -1;

    private final int[] buffers;
    private final int[] lengths;
    private final int touch;
    private final Pool pool;
    private final Allocation allocation;

    private Forwarder(int batch, int touch, Pool pool, Allocation allocation) {
        this.buffers = new int[batch];
        this.lengths = new int[batch];
        this.touch = touch;
        this.pool = pool;
        this.allocation = allocation;
    }

    private void forward(Device from, Device to) {
        int received = from.rxBatch(buffers, lengths);
        if (received == 0) {
            // Buffers that were sent are all that an empty pool can get.
            if (pool.isEmpty()) {
                to.cleanUp();
            }
            return;
        }
        if (allocation != null) {
            allocation.place(buffers, lengths, received);
        }
        if (touch != NO_TOUCH) {
            for (int n = 0; n < received; n++) {
                pool.touch(buffers[n], touch);
            }
        }
        // What finds no room is dropped, as waiting would only delay what comes next.
        for (int sent = to.txBatch(buffers, lengths, received); sent < received; sent++) {
            pool.give(buffers[sent]);
        }
    }

    private static int number(String name, int otherwise, int low, int high) {
        String text = System.getenv(name);
        if (text == null || text.isEmpty()) {
            return otherwise;
        }
        if (text.matches("[0-9]{1,9}")) {
            int value = Integer.parseInt(text);
            if (value >= low && value <= high) {
                return value;
            }
        }
        throw new IllegalArgumentException(name + ": expected " + low + " to " + high + ", found " + text);
    }

    private static void run(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            throw new IllegalArgumentException("usage: Forwarder ADDRESS ADDRESS");
        }
        String kind = System.getenv("FORWARDER_POOL");
        if (kind != null && !kind.equals("stack") && !kind.equals("ring")) {
            throw new IllegalArgumentException("FORWARDER_POOL: expected stack or ring, found " + kind);
        }
        int batch = number("FORWARDER_BATCH", 32, 1, 512);
        int clean = number("FORWARDER_CLEAN", 32, 1, 256);
        boolean isUntouched = "none".equals(System.getenv("FORWARDER_TOUCH"));
        int touch = isUntouched ? NO_TOUCH : number("FORWARDER_TOUCH", 1, 0, 59);
        Allocation allocation = Allocation.of(System.getenv("FORWARDER_ALLOCATE"), batch);
        Pool pool = new Pool(number("FORWARDER_BUFFERS", 8192, 2112, 65536), "ring".equals(kind));
        Device first = new Device(arguments[0], pool, clean);
        Device second = new Device(arguments[1], pool, clean);
        Forwarder forwarder = new Forwarder(batch, touch, pool, allocation);
        while (true) {
            forwarder.forward(first, second);
            forwarder.forward(second, first);
        }
    }

    public static void main(String[] arguments) {
        try {
            run(arguments);
        } catch (Exception error) {
            System.err.println("forwarder: " + error.getMessage());
            System.exit(1);
        }
    }
}
