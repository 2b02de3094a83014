// Fighters: fake clients that walk, look for each other and shoot. A game DLL between the engine (or Metamod) and the real game
// DLL `hl.so`, which it needs and whose entry points it passes on; so that the same players are there with any plugin layer or
// none. `+fighters N` says how many. Their dice are their own and always begin alike.
//
// Way points come from maps/NAME.ways: a line for each, with its place and the numbers of its neighbours.
#include <dlfcn.h>
#include <pthread.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vector>

#include <extdll.h>

static enginefuncs_t engine;
static globalvars_t *globals;
static DLL_FUNCTIONS game;

static char cvar_name[] = "fighters", cvar_value[] = "24";
static cvar_t wanted = {cvar_name, cvar_value, FCVAR_EXTDLL};

struct Node {
    float at[3];
    std::vector<int> neighbours;
};
static std::vector<Node> nodes;

struct Fighter {
    edict_t *body;
    int goal, last;            // way points
    double next_move, next_look, next_step_check;
    edict_t *enemy;
    float yaw, pitch;
    float checked_at[2];
    bool fires, jumps;
};
static const int FIGHTERS_MAX = 32;
static const double MOVE_S = 0.01, LOOK_S = 0.1, JOIN_S = 0.25;
static Fighter fighters[FIGHTERS_MAX];
static int joined;
static double next_join, next_report;
static unsigned dice_state;

static int dice(int sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return int((dice_state >> 8) % unsigned(sides));
}

static bool alive(edict_t *entity)
{
    return entity && !entity->free && entity->v.deadflag == DEAD_NO && entity->v.health > 0 && entity->v.solid != SOLID_NOT;
}

static void load_ways()
{
    nodes.clear();
    char path[256], directory[128], line[256];
    engine.pfnGetGameDir(directory);
    snprintf(path, sizeof path, "%s/maps/%s.ways", directory, engine.pfnSzFromIndex(globals->mapname));
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        Node node;
        int used = 0, more = 0, neighbour;
        if (sscanf(line, "%f %f %f%n", &node.at[0], &node.at[1], &node.at[2], &used) < 3)
            continue;
        while (sscanf(line + used, "%d%n", &neighbour, &more) == 1) {
            node.neighbours.push_back(neighbour);
            used += more;
        }
        nodes.push_back(node);
    }
    if (file)
        fclose(file);
}

static int nearest(const float *at)
{
    int best = -1;
    float least = 1e12f;
    for (size_t i = 0; i < nodes.size(); i++) {
        float dx = nodes[i].at[0] - at[0], dy = nodes[i].at[1] - at[1], far = dx * dx + dy * dy;
        if (far < least)
            least = far, best = int(i);
    }
    return best;
}

static void join()
{
    char name[32], reason[128] = "", address[] = "127.0.0.1";
    snprintf(name, sizeof name, "fighter%02d", joined + 1);
    edict_t *body = engine.pfnCreateFakeClient(name);
    if (!body)
        return;
    static void (*player)(entvars_t *) = (void (*)(entvars_t *))dlsym(dlopen("hl.so", RTLD_NOW), "player");
    player(&body->v);
    game.pfnClientConnect(body, name, address, reason);
    game.pfnClientPutInServer(body);
    body->v.flags |= FL_FAKECLIENT;
    Fighter &fighter = fighters[joined++];
    fighter = Fighter();
    fighter.body = body;
    fighter.goal = fighter.last = -1;
    // Moves of different fighters fall into different frames, as those of clients do.
    fighter.next_move = globals->time + 0.001 * dice(10);
}

static void eye_of(const edict_t *entity, float *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = entity->v.origin[i] + entity->v.view_ofs[i];
}

static bool sees(edict_t *from, edict_t *to)
{
    float a[3], b[3];
    eye_of(from, a);
    eye_of(to, b);
    TraceResult trace;
    engine.pfnTraceLine(a, b, FALSE, from, &trace);
    return trace.pHit == to || trace.flFraction >= 1.0f;
}

static void look(Fighter &fighter)
{
    edict_t *best = nullptr;
    float least = 1500.0f * 1500.0f;
    for (int i = 0; i < joined; i++) {
        edict_t *other = fighters[i].body;
        if (other == fighter.body || !alive(other))
            continue;
        float far = 0;
        for (int k = 0; k < 3; k++) {
            float d = other->v.origin[k] - fighter.body->v.origin[k];
            far += d * d;
        }
        if (far < least && sees(fighter.body, other))
            least = far, best = other;
    }
    fighter.enemy = best;
    fighter.fires = best && dice(8) > 0;
    fighter.jumps = dice(40) == 0;
}

static void choose_goal(Fighter &fighter)
{
    if (nodes.empty())
        return;
    if (fighter.goal < 0) {
        fighter.goal = nearest(fighter.body->v.origin);
        return;
    }
    const std::vector<int> &near = nodes[fighter.goal].neighbours;
    int next = near[dice(int(near.size()))];
    if (next == fighter.last)
        next = near[dice(int(near.size()))];
    fighter.last = fighter.goal;
    fighter.goal = next;
}

static void move(Fighter &fighter)
{
    entvars_t &v = fighter.body->v;
    unsigned short buttons = 0;
    float forward = 0, side = 0;
    if (v.deadflag != DEAD_NO) {
        // The game waits for a key that was up and goes down.
        buttons = int(globals->time * 5) % 2 ? IN_ATTACK : 0;
        fighter.goal = fighter.last = -1;
        fighter.enemy = nullptr;
    } else {
        if (globals->time >= fighter.next_look) {
            look(fighter);
            fighter.next_look = globals->time + LOOK_S;
        }
        if (fighter.goal < 0)
            choose_goal(fighter);
        if (globals->time >= fighter.next_step_check) {
            float dx = v.origin[0] - fighter.checked_at[0], dy = v.origin[1] - fighter.checked_at[1];
            if (dx * dx + dy * dy < 400) {
                fighter.jumps = true;
                fighter.goal = nearest(v.origin);
                choose_goal(fighter);
            }
            fighter.checked_at[0] = v.origin[0];
            fighter.checked_at[1] = v.origin[1];
            fighter.next_step_check = globals->time + 1;
        }
        float dx = 0, dy = 0, far = 0;
        if (fighter.goal >= 0) {
            dx = nodes[fighter.goal].at[0] - v.origin[0];
            dy = nodes[fighter.goal].at[1] - v.origin[1];
            far = sqrtf(dx * dx + dy * dy);
            if (far < 40)
                choose_goal(fighter);
        }
        if (fighter.enemy && alive(fighter.enemy)) {
            float from[3];
            eye_of(fighter.body, from);
            float x = fighter.enemy->v.origin[0] - from[0], y = fighter.enemy->v.origin[1] - from[1];
            float z = fighter.enemy->v.origin[2] - from[2];
            fighter.yaw = float(atan2(y, x) * (180 / M_PI)) + 0.25f * float(dice(17) - 8);
            fighter.pitch = float(-atan2(z, sqrtf(x * x + y * y)) * (180 / M_PI)) + 0.25f * float(dice(9) - 4);
            if (fighter.fires)
                buttons |= IN_ATTACK;
        } else if (far > 0) {
            fighter.yaw = float(atan2(dy, dx) * (180 / M_PI));
            fighter.pitch = 0;
        }
        if (far > 0) {
            float yaw = float(fighter.yaw * (M_PI / 180)), c = cosf(yaw), s = sinf(yaw);
            forward = 320 * (dx * c + dy * s) / far;
            side = 320 * (dx * s - dy * c) / far;
        }
        if (fighter.jumps)
            buttons |= IN_JUMP;
    }
    float angles[3] = {fighter.pitch, fighter.yaw, 0};
    v.v_angle[0] = fighter.pitch;
    v.v_angle[1] = fighter.yaw;
    v.v_angle[2] = 0;
    v.angles[0] = -fighter.pitch / 3;
    v.angles[1] = fighter.yaw;
    v.angles[2] = 0;
    engine.pfnRunPlayerMove(fighter.body, angles, forward, side, 0, buttons, 0, byte(MOVE_S * 1000));
}

static void start_frame()
{
    double now = globals->time;
    if (joined < wanted.value && joined < FIGHTERS_MAX && now >= next_join) {
        join();
        next_join = now + JOIN_S;
    }
    for (int i = 0; i < joined; i++) {
        Fighter &fighter = fighters[i];
        if (now < fighter.next_move)
            continue;
        fighter.next_move += MOVE_S;
        if (fighter.next_move < now - 0.1)
            fighter.next_move = now;
        move(fighter);
    }
    if (now >= next_report) {
        float frags = 0;
        for (int i = 0; i < joined; i++)
            frags += fighters[i].body->v.frags;
        char line[64];
        snprintf(line, sizeof line, "fighters: %d, frags: %d\n", joined, int(frags));
        engine.pfnServerPrint(line);
        next_report = now + 15;
    }
    game.pfnStartFrame();
}

static void server_activate(edict_t *edicts, int edict_count, int clients_max)
{
    load_ways();
    joined = 0;
    dice_state = 2015;
    next_join = globals->time + 1;
    next_report = 0;
    game.pfnServerActivate(edicts, edict_count, clients_max);
}

static void *real(const char *name)
{
    return dlsym(dlopen("hl.so", RTLD_NOW), name);
}

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void GiveFnptrsToDll(enginefuncs_t *functions, globalvars_t *variables)
{
    engine = *functions;
    globals = variables;
    engine.pfnCVarRegister(&wanted);
    ((void (*)(enginefuncs_t *, globalvars_t *))real("GiveFnptrsToDll"))(functions, variables);
}

static int take_over(DLL_FUNCTIONS *table, int found)
{
    game = *table;
    table->pfnStartFrame = start_frame;
    table->pfnServerActivate = server_activate;
    return found;
}

EXPORTED int GetEntityAPI(DLL_FUNCTIONS *table, int version)
{
    return take_over(table, ((int (*)(DLL_FUNCTIONS *, int))real("GetEntityAPI"))(table, version));
}

EXPORTED int GetEntityAPI2(DLL_FUNCTIONS *table, int *version)
{
    return take_over(table, ((int (*)(DLL_FUNCTIONS *, int *))real("GetEntityAPI2"))(table, version));
}

EXPORTED int GetNewDLLFunctions(NEW_DLL_FUNCTIONS *table, int *version)
{
    auto function = (int (*)(NEW_DLL_FUNCTIONS *, int *))real("GetNewDLLFunctions");
    return function ? function(table, version) : 0;
}


// Metamod-P puts code of its own in front of dlsym, and locks a mutex in it. A recorder that asks dlsym for the real
// pthread_mutex_lock when that is first called would go round in a circle: so the first call is here.
__attribute__((constructor)) static void lock_once()
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
