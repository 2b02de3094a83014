/* Looks up addresses that need no name server, and answers with where on its heap it keeps things afterwards: the resolver
 * takes memory there too, and so does the message of a failed look-up of a function, which has to outlive other calls.
 *
 *   heap PORT
 */
#include "questions.h"
#include <dlfcn.h>
#include <netdb.h>

static void *early[2];

static void answer(unsigned number, char *text, size_t room) {
    static const char *const nodes[] = {NULL, "127.0.0.1", "::1", "10.1.2.3"};
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *list;
    char host[64], service[64];
    must(getaddrinfo(nodes[number % 4], number % 2 ? "80" : "4000", &hints, &list) == 0, "getaddrinfo");
    must(getnameinfo(list->ai_addr, list->ai_addrlen, host, sizeof host, service, sizeof service, NI_NUMERICHOST) == 0,
         "getnameinfo");
    must(dlsym(RTLD_DEFAULT, "a function that nobody has") == NULL && getsid(0) >= 0 && getpgrp() >= 0 && dlerror() != NULL, "dlerror");
    void *small = malloc(24 + number * 16), *large = malloc(2000 + number * 100);
    snprintf(text, room, "%s %s: kept at %p, %p, %p and %p", host, service, early[0], early[1], small, large);
    freeaddrinfo(list);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fd = open_socket(atoi(arguments[1]));
    early[0] = malloc(24);
    early[1] = malloc(50);
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
