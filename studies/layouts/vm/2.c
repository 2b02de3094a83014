__attribute__((noinline)) void subtract(void) { top--; stack[top] -= stack[top + 1]; }
