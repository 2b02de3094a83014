import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** An HTTP server of four threads that answers each request with one page: {@code java Pages PORT}. */
class Pages {
    private static final int THREADS = 4;

    public static void main(String[] words) throws IOException {
        byte[] page = "small page\n".repeat(60).getBytes(StandardCharsets.US_ASCII);
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(words[0]));
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, page.length);
            try (OutputStream body = exchange.getResponseBody()) {
                body.write(page);
            }
        });
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.start();
    }
}
