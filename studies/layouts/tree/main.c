/* Look-ups in a small binary tree: short functions that call each other, and branches. */
int main(void) {
    unsigned state = 1, hits = 0;
    struct node *root = 0;
    for (int i = 0; i < NODES; i++) { nodes[i].key = next(&state) >> 20; root = insert(root, &nodes[i]); }
    for (int i = 0; i < ROUNDS; i++) hits += find(root, next(&state) >> 20) != 0;
    return hits == 0;
}
