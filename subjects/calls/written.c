/* A server that sends itself datagrams for ROUNDS rounds, and whose variables change in the ways that a debugger is to tell apart.
 *
 *   written ROUNDS FILE
 *
 * In each round a thread adds to `total`; `level` is written always and changes in the first rounds only; `question` is filled by a
 * recorded call. In the last round but one `page` is filled from FILE by a call that is made for real. `fixed` never changes.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

long total, level, fixed = 5;
char question[64];
char *page;

__attribute__((noinline)) void add_to_total(long amount) { total += amount; }

static void *run_thread(void *round) {
    add_to_total((long)round);
    return NULL;
}

__attribute__((noinline)) void set_level(long round) { *(volatile long *)&level = round < 3 ? round : 3; }

__attribute__((noinline)) void take_question(int fd) {
    if (recv(fd, question, sizeof question, 0) < 0)
        perror("recv");
}

__attribute__((noinline)) void read_page(const char *name) {
    int fd = open(name, O_RDONLY);
    if (fd < 0 || read(fd, page, 8) != 8)
        perror(name);
    close(fd);
}

__attribute__((noinline)) void send_total(int fd) {
    char text[64];
    int length = snprintf(text, sizeof text, "%ld %ld %ld %c", total, level, fixed, page[0]);
    if (send(fd, text, (size_t)length, 0) != length)
        perror("send");
}

int main(int count, char **arguments) {
    if (count < 3)
        return 2;
    long rounds = atol(arguments[1]);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0 || connect(fd, (struct sockaddr *)&address, size) != 0) {
        perror("socket");
        return 1;
    }
    for (long round = 0; round < rounds; round++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_thread, (void *)round) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
        set_level(round);
        if (page == NULL)
            page = memset(malloc(64), 'a', 64);
        if (round == rounds - 2)
            read_page(arguments[2]);
        send_total(fd);
        take_question(fd);
    }
    return 0;
}
