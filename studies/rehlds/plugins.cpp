// Three Metamod plugins that hook what is called for each player, each entity and each frame, as those of a public server do.
// They watch and count; they change nothing, so that a server is the same with them and without. Compiled three times:
//
//   -DVISIBILITY   AddToFullPack, CheckVisibility, SetupVisibility
//   -DMOVEMENT     CmdStart, PlayerPreThink, PlayerPostThink, and TraceLine of the engine
//   -DSTATISTICS   StartFrame, UpdateClientData, and GetPlayerUserId, EmitSound and messages of the engine
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <extdll.h>
#include <meta_api.h>
#include <entity_state.h>
#include <usercmd.h>

enginefuncs_t g_engfuncs;
globalvars_t *gpGlobals;
meta_globals_t *gpMetaGlobals;
gamedll_funcs_t *gpGamedllFuncs;
mutil_funcs_t *gpMetaUtilFuncs;

static const int PLAYERS = 33;
static DLL_FUNCTIONS game_hooks, game_hooks_after;
static enginefuncs_t engine_hooks;

#if defined(VISIBILITY)
#define NAME "prony visibility"
#define TAG "VISIBILITY"
static unsigned packed[PLAYERS], near_players[PLAYERS], checked;

static int add_to_full_pack(struct entity_state_s *, int, edict_t *entity, edict_t *host, int, int player, unsigned char *)
{
    int index = int(host - g_engfuncs.pfnPEntityOfEntIndex(0));
    if (index > 0 && index < PLAYERS) {
        packed[index]++;
        // What a plugin that hides far players asks.
        if (player && (entity->v.origin - host->v.origin).Length() < 512)
            near_players[index]++;
    }
    RETURN_META_VALUE(MRES_IGNORED, 0);
}

static int add_to_full_pack_after(struct entity_state_s *state, int, edict_t *, edict_t *, int, int player, unsigned char *)
{
    if (player && state->solid == SOLID_NOT)
        checked++;
    RETURN_META_VALUE(MRES_IGNORED, 0);
}

static int check_visibility(const edict_t *, unsigned char *)
{
    checked++;
    RETURN_META_VALUE(MRES_IGNORED, 0);
}

static void setup_visibility(edict_t *, edict_t *, unsigned char **, unsigned char **)
{
    RETURN_META(MRES_IGNORED);
}

static void hook()
{
    game_hooks.pfnAddToFullPack = add_to_full_pack;
    game_hooks.pfnSetupVisibility = setup_visibility;
    game_hooks_after.pfnAddToFullPack = add_to_full_pack_after;
    engine_hooks.pfnCheckVisibility = check_visibility;
}
#elif defined(MOVEMENT)
#define NAME "prony movement"
#define TAG "MOVEMENT"
static float travelled[PLAYERS];
static unsigned commands[PLAYERS], turns[PLAYERS], traces;
static Vector last_origin[PLAYERS], last_angles[PLAYERS];

static int index_of(const edict_t *entity)
{
    int index = g_engfuncs.pfnIndexOfEdict(entity);
    return index > 0 && index < PLAYERS ? index : 0;
}

static void cmd_start(const edict_t *player, const struct usercmd_s *command, unsigned int)
{
    int index = index_of(player);
    commands[index]++;
    // What a guard against aiming robots asks.
    if (fabsf(command->viewangles.y - last_angles[index].y) > 45)
        turns[index]++;
    last_angles[index] = command->viewangles;
    RETURN_META(MRES_IGNORED);
}

static void pre_think(edict_t *player)
{
    last_origin[index_of(player)] = player->v.origin;
    RETURN_META(MRES_IGNORED);
}

static void post_think(edict_t *player)
{
    int index = index_of(player);
    travelled[index] += (player->v.origin - last_origin[index]).Length();
    RETURN_META(MRES_IGNORED);
}

static void trace_line(const float *, const float *, int, edict_t *, TraceResult *)
{
    traces++;
    RETURN_META(MRES_IGNORED);
}

static void hook()
{
    game_hooks.pfnCmdStart = cmd_start;
    game_hooks.pfnPlayerPreThink = pre_think;
    game_hooks_after.pfnPlayerPostThink = post_think;
    engine_hooks.pfnTraceLine = trace_line;
}
#elif defined(STATISTICS)
#define NAME "prony statistics"
#define TAG "STATISTICS"
static unsigned frames, updates, sounds, messages;
static float longest;

static void start_frame()
{
    frames++;
    if (gpGlobals->frametime > longest)
        longest = gpGlobals->frametime;
    RETURN_META(MRES_IGNORED);
}

static void update_client_data(const struct edict_s *, int, struct clientdata_s *)
{
    updates++;
    RETURN_META(MRES_IGNORED);
}

static void emit_sound(edict_t *, int, const char *, float, float, int, int)
{
    sounds++;
    RETURN_META(MRES_IGNORED);
}

static void message_begin(int, int, const float *, edict_t *)
{
    messages++;
    RETURN_META(MRES_IGNORED);
}

static void hook()
{
    game_hooks.pfnStartFrame = start_frame;
    game_hooks_after.pfnUpdateClientData = update_client_data;
    engine_hooks.pfnEmitSound = emit_sound;
    engine_hooks.pfnMessageBegin = message_begin;
}
#endif

plugin_info_t Plugin_info = {META_INTERFACE_VERSION, NAME, "1", "2026", "prony", "", TAG, PT_ANYTIME, PT_ANYTIME};

C_DLLEXPORT void WINAPI GiveFnptrsToDll(enginefuncs_t *functions, globalvars_t *variables)
{
    g_engfuncs = *functions;
    gpGlobals = variables;
}

C_DLLEXPORT int GetEntityAPI2(DLL_FUNCTIONS *table, int *)
{
    *table = game_hooks;
    return TRUE;
}

C_DLLEXPORT int GetEntityAPI2_Post(DLL_FUNCTIONS *table, int *)
{
    *table = game_hooks_after;
    return TRUE;
}

C_DLLEXPORT int GetEngineFunctions(enginefuncs_t *table, int *)
{
    *table = engine_hooks;
    return TRUE;
}

static META_FUNCTIONS entry_points;

C_DLLEXPORT int Meta_Query(char *, plugin_info_t **info, mutil_funcs_t *functions)
{
    *info = &Plugin_info;
    gpMetaUtilFuncs = functions;
    return TRUE;
}

C_DLLEXPORT int Meta_Attach(PLUG_LOADTIME, META_FUNCTIONS *functions, meta_globals_t *variables, gamedll_funcs_t *dll)
{
    gpMetaGlobals = variables;
    gpGamedllFuncs = dll;
    hook();
    entry_points.pfnGetEntityAPI2 = GetEntityAPI2;
    entry_points.pfnGetEntityAPI2_Post = GetEntityAPI2_Post;
    entry_points.pfnGetEngineFunctions = GetEngineFunctions;
    *functions = entry_points;
    return TRUE;
}

C_DLLEXPORT int Meta_Detach(PLUG_LOADTIME, PL_UNLOAD_REASON)
{
    return TRUE;
}
