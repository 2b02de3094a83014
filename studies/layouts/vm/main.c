/* The dispatch loop of a stack machine. */
enum { PUSH, ADD, SUBTRACT, DUPLICATE, MULTIPLY, JUMP };
static void (*const instructions[])(void) = { push, add, subtract, duplicate, multiply, jump };
static const long program[] = { PUSH, 1, PUSH, ROUNDS, PUSH, 1, SUBTRACT, DUPLICATE, PUSH, 3, MULTIPLY, PUSH, 5, ADD, DUPLICATE,
                                SUBTRACT, ADD, JUMP, 4 };
int main(void) {
    const int end = sizeof program / sizeof *program;
    for (int i = 0; i < end; i++) code[i] = program[i];
    while (at < end) instructions[code[at++]]();
    return stack[top] != 0;
}
