/* A UDP server around one function: every datagram is a question and gets one answer; `quit` ends it.
 *
 * The programs that include it each bring one thing that a recorder may miss, and answer with what
 * comes of it, so that a replay that misses it sends other bytes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void must(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* A socket on loopback; port 0: any. */
static inline int open_socket(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    return fd;
}

/* Receives one datagram and who sent it; false for `quit`. */
static inline int question(int fd, struct sockaddr_in *from) {
    char line[512];
    socklen_t length = sizeof *from;
    ssize_t got = recvfrom(fd, line, sizeof line - 1, 0, (struct sockaddr *)from, &length);
    must(got >= 0, "recvfrom");
    line[got] = 0;
    return strcmp(line, "quit") != 0;
}

/* Answers one datagram; false after `quit`. `answer` writes text for the question with this number. */
static inline int answer_one(int fd, unsigned number, void (*answer)(unsigned, char *, size_t)) {
    char text[512];
    struct sockaddr_in from;
    if (!question(fd, &from)) return 0;
    answer(number, text, sizeof text);
    must(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&from, sizeof from) >= 0, "sendto");
    return 1;
}

/* The inode of the file as its directory lists it. */
static inline unsigned long listed(const char *path) {
    char folder[256];
    const char *name = strrchr(path, '/') + 1;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
    DIR *open = opendir(folder);
    must(open != NULL, "opendir");
    unsigned long found = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;)
        if (strcmp(entry->d_name, name) == 0) found = (unsigned long)entry->d_ino;
    closedir(open);
    return found;
}
