static long stack[64], code[64];
static int top, at;
void push(void), add(void), subtract(void), duplicate(void), multiply(void), jump(void);
__attribute__((noinline)) void push(void) { stack[++top] = code[at++]; }
__attribute__((noinline)) void add(void) { top--; stack[top] += stack[top + 1]; }
