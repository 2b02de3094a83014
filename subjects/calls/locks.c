/* Answers what a crew of threads found under its locks: most of them free, some held by who sleeps.
 *
 *   locks PORT
 *
 * Every answer has a hash of who had which lock when, what `trylock` said, and where signals came in between. Most
 * of all calls are acquisitions that need no wait; the last word of an answer is how many there were.
 */
#include "questions.h"
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/times.h>

#define MEMBERS 3
#define ROUNDS 120
/* The last one takes no part in those behind. */
#define ALL_ROUNDS 60

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t asked[MEMBERS], told, places;
static pthread_cond_t all_met = PTHREAD_COND_INITIALIZER;
static unsigned long hash, acquired, arrived, meetings;
static volatile sig_atomic_t own_round, signals;

static void add(unsigned long value) {
    hash = (hash ^ value) * 1099511628211UL;
}

/* Comes on the thread that raised it. Which of its rounds it is must be the same again. */
static void on_signal(int number) {
    signals++;
    add((unsigned long)(number + 1000 * own_round));
}

static void go_round(unsigned own, int round) {
    pthread_mutex_lock(&mutex);
    add(own * 1000UL + (unsigned)round);
    own_round = round;
    pthread_mutex_unlock(&mutex);
    if (pthread_mutex_trylock(&held) == 0) {
        add(1);
        pthread_mutex_unlock(&held);
        acquired++;
    } else {
        add(2);
    }
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    add(3);
    pthread_rwlock_unlock(&lock);
    pthread_spin_lock(&spin);
    add(4);
    pthread_spin_unlock(&spin);
    sem_wait(&places);
    add(5);
    sem_post(&places);
    acquired += 5;
    /* The other one has waited for long then, and must not go on at a call at which a replay does not stop. */
    if (round >= ALL_ROUNDS && round % 4 == 1) {
        struct tms now;
        for (volatile int step = 0; step < 200000; step++) {
        }
        times(&now);
        must(opendir("/no/such/place") == NULL, "opendir");
    }
    if (round % 40 == (int)own) raise(SIGUSR1);
    if (round % 25 == (int)own) {
        /* Others meet this one taken, and wait for it in their turn. */
        pthread_mutex_lock(&held);
        usleep(100);
        pthread_mutex_unlock(&held);
    }
    if (round % 25 == 20) {
        pthread_mutex_lock(&held);
        add(6);
        pthread_mutex_unlock(&held);
    }
}

/* Whoever is woken has the lock again before it runs, so that one that comes meanwhile finds it taken. */
static void meet(unsigned own) {
    pthread_mutex_lock(&mutex);
    unsigned long meeting = meetings;
    if (++arrived % MEMBERS == 0) {
        meetings++;
        pthread_cond_broadcast(&all_met);
    }
    while (meeting == meetings) pthread_cond_wait(&all_met, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int turn = 0; turn < 3; turn++) {
        pthread_mutex_lock(&mutex);
        add(own * 10UL + (unsigned)turn);
        pthread_mutex_unlock(&mutex);
    }
}

static void *work(void *argument) {
    unsigned own = (unsigned)(size_t)argument;
    for (;;) {
        while (sem_wait(&asked[own]) != 0) {
        }
        for (int round = 0; round < ROUNDS; round++) {
            if (round >= ALL_ROUNDS && own == MEMBERS - 1) break;
            go_round(own, round);
            if (round < ALL_ROUNDS && round % 5 == 0) meet(own);
        }
        sem_post(&told);
    }
    return NULL;
}

static void answer(unsigned number, char *text, size_t room) {
    for (unsigned member = 0; member < MEMBERS; member++) sem_post(&asked[member]);
    for (unsigned member = 0; member < MEMBERS; member++) {
        while (sem_wait(&told) != 0) {
        }
    }
    snprintf(text, room, "%u: %lx, %d signals, acquired %lu", number, hash, (int)signals, acquired);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    sem_init(&told, 0, 0);
    sem_init(&places, 0, 2);
    for (size_t member = 0; member < MEMBERS; member++) {
        pthread_t thread;
        sem_init(&asked[member], 0, 0);
        must(pthread_create(&thread, NULL, work, (void *)member) == 0, "pthread_create");
    }
    int fd = open_socket(atoi(arguments[1]));
    for (unsigned number = 0; answer_one(fd, number, answer); number++) {
    }
    return 0;
}
