__attribute__((noinline)) struct node *find(struct node *root, unsigned key) {
    while (root && root->key != key) root = less(key, root->key) ? root->left : root->right;
    return root;
}
