// A stand-in for Valve's libsteam_api.so: what the engine imports, with no Steam behind it. Every client is let in under a
// number of its own; nothing is sent or asked. Compiled against the interfaces in the engine's source.
#include "precompiled.h"

namespace {

uint32 last_account = 100;

class Server final : public ISteamGameServer {
public:
    bool InitGameServer(uint32, uint16, uint16, uint32, AppId_t, const char *) override { return true; }
    void SetProduct(const char *) override {}
    void SetGameDescription(const char *) override {}
    void SetModDir(const char *) override {}
    void SetDedicatedServer(bool) override {}
    void LogOn(const char *, const char *) override {}
    void LogOnAnonymous() override {}
    void LogOff() override {}
    bool BLoggedOn() override { return true; }
    bool BSecure() override { return false; }
    CSteamID GetSteamID() override { return CSteamID(1, k_EUniversePublic, k_EAccountTypeAnonGameServer); }
    bool WasRestartRequested() override { return false; }
    void SetMaxPlayerCount(int) override {}
    void SetBotPlayerCount(int) override {}
    void SetServerName(const char *) override {}
    void SetMapName(const char *) override {}
    void SetPasswordProtected(bool) override {}
    void SetSpectatorPort(uint16) override {}
    void SetSpectatorServerName(const char *) override {}
    void ClearAllKeyValues() override {}
    void SetKeyValue(const char *, const char *) override {}
    void SetGameTags(const char *) override {}
    void SetGameData(const char *) override {}
    void SetRegion(const char *) override {}
    bool SendUserConnectAndAuthenticate(uint32, const void *, uint32, CSteamID *user) override
    {
        *user = CSteamID(++last_account, k_EUniversePublic, k_EAccountTypeIndividual);
        return true;
    }
    CSteamID CreateUnauthenticatedUserConnection() override
    {
        return CSteamID(++last_account, k_EUniversePublic, k_EAccountTypeAnonGameServer);
    }
    void SendUserDisconnect(CSteamID) override {}
    bool BUpdateUserData(CSteamID, const char *, uint32) override { return true; }
    HAuthTicket GetAuthSessionTicket(void *, int, uint32 *) override { return 0; }
    EBeginAuthSessionResult BeginAuthSession(const void *, int, CSteamID) override { return EBeginAuthSessionResult(0); }
    void EndAuthSession(CSteamID) override {}
    void CancelAuthTicket(HAuthTicket) override {}
    EUserHasLicenseForAppResult UserHasLicenseForApp(CSteamID, AppId_t) override { return EUserHasLicenseForAppResult(0); }
    bool RequestUserGroupStatus(CSteamID, CSteamID) override { return false; }
    void GetGameplayStats() override {}
    SteamAPICall_t GetServerReputation() override { return 0; }
    uint32 GetPublicIP() override { return 0; }
    bool HandleIncomingPacket(const void *, int, uint32, uint16) override { return true; }
    int GetNextOutgoingPacket(void *, int, uint32 *, uint16 *) override { return 0; }
    void EnableHeartbeats(bool) override {}
    void SetHeartbeatInterval(int) override {}
    void ForceHeartbeat() override {}
    SteamAPICall_t AssociateWithClan(CSteamID) override { return 0; }
    SteamAPICall_t ComputeNewPlayerCompatibility(CSteamID) override { return 0; }
};

Server server;

} // namespace

#undef S_API
#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED bool SteamAPI_Init() { return true; }
EXPORTED void SteamAPI_Shutdown() {}
EXPORTED void SteamAPI_RegisterCallback(class CCallbackBase *, int) {}
EXPORTED void SteamAPI_UnregisterCallback(class CCallbackBase *) {}
EXPORTED void SteamAPI_UnregisterCallResult(class CCallbackBase *, SteamAPICall_t) {}
EXPORTED void SteamAPI_RunCallbacks() {}
EXPORTED void SteamAPI_SetBreakpadAppID(uint32) {}
EXPORTED void SteamAPI_UseBreakpadCrashHandler(char const *, char const *, char const *, bool, void *, PFNPreMinidumpCallback) {}
EXPORTED ISteamApps *SteamApps() { return nullptr; }
EXPORTED ISteamUser *SteamUser() { return nullptr; }
EXPORTED ISteamFriends *SteamFriends() { return nullptr; }
EXPORTED bool SteamGameServer_Init(uint32, uint16, uint16, uint16, EServerMode, const char *) { return true; }
EXPORTED ISteamGameServer *SteamGameServer() { return &server; }
EXPORTED void SteamGameServer_RunCallbacks() {}
EXPORTED void SteamGameServer_Shutdown() {}
