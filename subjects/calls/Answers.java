import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A web server on several threads, whose answers are never the same twice: {@code Answers PORT}. */
public class Answers {
    public static void main(String[] arguments) throws Exception {
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        var count = new AtomicInteger();
        server.createContext("/", exchange -> {
            var garbage = new byte[1 << 18];
            var text = count.getAndIncrement() + " " + Math.random() + " " + System.nanoTime() + " "
                + System.identityHashCode(garbage) + "\n";
            var answer = text.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.createContext("/quit", exchange -> System.exit(0));
        server.setExecutor(Executors.newFixedThreadPool(3));
        server.start();
    }
}
