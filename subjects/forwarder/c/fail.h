/* Errors that end the program. */
#ifndef FORWARDER_FAIL_H
#define FORWARDER_FAIL_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noreturn)) static inline void fail(const char *what) {
	fprintf(stderr, "forwarder: %s\n", what);
	exit(1);
}

/* Ends the program with the reason of the system call that failed. */
static inline void check(bool is_good, const char *what) {
	if (!is_good) {
		fprintf(stderr, "forwarder: cannot %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

#endif
