/* A program with known shares: four parts, whose CPU time it sums itself by the clock of its thread and prints as JSON.
 *
 *     g++ -O2 -g -fno-omit-frame-pointer -o shares shares.cpp && ./shares 5
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

static uint64_t cpu_ns() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

/* Xorshift (Marsaglia 2003): a chain that nothing can shorten. A copy for each part, so that it has a name of its own. */
template <int Part> __attribute__((noinline)) uint64_t churn(uint64_t steps, uint64_t x) {
    for (uint64_t step = 0; step < steps; step++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        __asm__ volatile("" : "+r"(x));
    }
    return x + Part;
}

namespace engine {
/* Something is left to do after the call, or it would be a jump and the caller not in the stack. */
__attribute__((noinline)) uint64_t physics(uint64_t x) { return churn<1>(400000, x) + 1; }
__attribute__((noinline)) uint64_t network(uint64_t x) { return churn<2>(300000, x) + 2; }
__attribute__((noinline)) uint64_t scripts(uint64_t x) { return churn<3>(200000, x) + 3; }
/* Inlined into `main` on purpose. */
inline __attribute__((always_inline)) uint64_t logging(uint64_t x) { return churn<4>(100000, x) + 4; }
} // namespace engine

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 5;
    uint64_t took[4] = {}, x = 88172645463325252u;
    const uint64_t began = cpu_ns();
    while (double(cpu_ns() - began) < seconds * 1e9) {
        uint64_t time = cpu_ns();
        auto add = [&](int part) {
            const uint64_t now = cpu_ns();
            took[part] += now - time;
            time = now;
        };
        x = engine::physics(x);
        add(0);
        x = engine::network(x);
        add(1);
        x = engine::scripts(x);
        add(2);
        x = engine::logging(x);
        add(3);
    }
    const double all = double(cpu_ns() - began);
    fprintf(stderr, "{\"physics\": %.5f, \"network\": %.5f, \"scripts\": %.5f, \"logging\": %.5f, \"cpu_s\": %.3f}\n",
            double(took[0]) / all, double(took[1]) / all, double(took[2]) / all, double(took[3]) / all, all / 1e9);
    return x == 42;
}
