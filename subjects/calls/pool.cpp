// A server of numbers over UDP with a pool of std::threads that all wait on one socket.
//
//   pool PORT
//
// A datagram holds a number as text; the answer is that number, the sum of all so far, how many
// came, the CPUs a thread may use, and a clock. A thread of its own reports through a queue once in
// a while, another sleeps.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Sums {
    std::mutex lock;
    unsigned long sum = 0;
    unsigned long count = 0;
};

struct Queue {
    std::mutex lock;
    std::condition_variable filled;
    std::deque<std::string> lines;
};

std::shared_mutex names_lock;
std::vector<std::string> names;

int cpus() {
    cpu_set_t set;
    return pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

void serve(int socket, Sums& sums, Queue& queue) {
    std::vector<char> buffer(2048);
    for (;;) {
        sockaddr_in from{};
        socklen_t length = sizeof from;
        ssize_t got = recvfrom(socket, buffer.data(), buffer.size() - 1, 0, reinterpret_cast<sockaddr*>(&from), &length);
        if (got < 0) return;
        buffer[static_cast<size_t>(got)] = 0;
        unsigned long number = std::strtoul(buffer.data(), nullptr, 10), sum, count;
        {
            std::lock_guard<std::mutex> held(sums.lock);
            sum = sums.sum += number;
            count = ++sums.count;
        }
        {
            std::shared_lock<std::shared_mutex> held(names_lock);
            number += names.size();
        }
        auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        std::string answer = std::to_string(number) + " " + std::to_string(sum) + " " + std::to_string(count) + " " +
                             std::to_string(cpus()) + " " + std::to_string(now) + "\n";
        sendto(socket, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
        if (count % 64 == 0) {
            std::lock_guard<std::mutex> held(queue.lock);
            queue.lines.push_back(answer);
            queue.filled.notify_one();
        }
    }
}

void report(Queue& queue) {
    for (;;) {
        std::unique_lock<std::mutex> held(queue.lock);
        queue.filled.wait_for(held, std::chrono::milliseconds(100), [&] { return !queue.lines.empty(); });
        while (!queue.lines.empty()) {
            std::fputs(queue.lines.front().c_str(), stdout);
            queue.lines.pop_front();
        }
        held.unlock();
        std::fflush(stdout);
        // A future's result crosses threads through a lock of its own.
        int answer = std::async(std::launch::async, [] { return 42; }).get();
        std::unique_lock<std::shared_mutex> writing(names_lock);
        names.assign(static_cast<size_t>(answer), "name");
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fputs("usage: pool PORT\n", stderr);
        return 2;
    }
    // Not the default source: that is a processor instruction, which no recorder of calls sees.
    std::random_device seed("/dev/urandom");
    std::mt19937 random(seed());
    Sums sums;
    sums.sum = random();
    Queue queue;

    int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::atoi(arguments[1])));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        std::perror("bind");
        return 1;
    }
    std::vector<std::thread> pool;
    for (unsigned i = 0; i < 4; i++) pool.emplace_back(serve, socket, std::ref(sums), std::ref(queue));
    std::thread reporter(report, std::ref(queue));
    for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(250));
}
