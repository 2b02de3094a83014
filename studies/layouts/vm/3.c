__attribute__((noinline)) void duplicate(void) { stack[top + 1] = stack[top]; top++; }
__attribute__((noinline)) void multiply(void) { top--; stack[top] *= stack[top + 1] | 1; }
