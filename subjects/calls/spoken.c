/* Answers lines of standard input on standard output, through stdio: each with the word of its argument in front, after `quit` with what it leaves in the
 * buffer. What it says to an operator goes to standard error.
 *
 *   spoken WORD
 */
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
    char line[100];
    (void)count;
    fprintf(stderr, "ready\n");
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "quit\n") != 0) {
        printf("%s %s", arguments[1], line);
        fflush(stdout);
    }
    printf("%s the end\n", arguments[1]);
    return 0;
}
