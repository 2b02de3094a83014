/* A Java program to be drawn: reads orders from text, counts words, sorts, writes. Its own code, the library's, and the
 * virtual machine's threads.
 *
 *     javac -d . Orders.java && java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit Orders 300
 */
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public final class Orders {
    record Order(int id, double price, String note) {}

    private static final Pattern LINE = Pattern.compile("id=(\\d+) price=(\\d+\\.\\d+) note=(.*)");

    static String madeUp(int orders) {
        String[] words = {"brake", "engine", "shaft", "lever", "pulley", "flywheel", "governor", "valve"};
        Random random = new Random(1);
        StringBuilder text = new StringBuilder();
        for (int id = 0; id < orders; id++) {
            text.append("id=").append(id).append(" price=").append(random.nextInt(100_000) / 100.0).append(" note=");
            for (int word = 0; word < 8; word++) {
                text.append(words[random.nextInt(words.length)]).append(' ');
            }
            text.append('\n');
        }
        return text.toString();
    }

    static List<Order> read(String text) {
        List<Order> orders = new ArrayList<>();
        for (String line : text.split("\n")) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.matches()) {
                double price = Double.parseDouble(matcher.group(2));
                orders.add(new Order(Integer.parseInt(matcher.group(1)), price, matcher.group(3)));
            }
        }
        return orders;
    }

    static Map<String, Integer> countWords(List<Order> orders) {
        Map<String, Integer> seen = new HashMap<>();
        for (Order order : orders) {
            for (String word : order.note().split(" ")) {
                seen.merge(word, 1, Integer::sum);
            }
        }
        return seen;
    }

    static double median(List<Order> orders) {
        orders.sort(Comparator.comparingDouble(Order::price));
        return orders.get(orders.size() / 2).price();
    }

    public static void main(String[] arguments) {
        String text = madeUp(5_000);
        double sum = 0;
        for (int round = Integer.parseInt(arguments[0]); round > 0; round--) {
            List<Order> orders = read(text);
            sum += countWords(orders).get("brake") + median(orders);
        }
        System.out.println(sum);
    }
}
