/* Becomes the program that its arguments name: of another class, where it is built with -m32. */
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count < 2) return 2;
    execv(arguments[1], arguments + 1);
    perror(arguments[1]);
    return 1;
}
