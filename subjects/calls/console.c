/* Has a console, as game servers do: ends by `quit` on its standard input, and not by SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char line[64];
    signal(SIGTERM, SIG_IGN);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "quit\n") == 0) return 0;
    }
    return 9;
}
