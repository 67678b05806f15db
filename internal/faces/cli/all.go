package cli

// verbs is the whole table. The order is that of help.
var verbs = Join(
	stopVerbs, statusVerbs, busVerbs, mailVerbs, searchVerbs, keyVerbs, watchVerbs, upVerbs, commsVerbs, commsMoreVerbs, commsLookVerbs, commsNetVerbs, sessionVerbs, stopSessionVerbs, screenVerbs, monitorSessionVerbs, keepaliveVerbs, jobVerbs, mcpVerbs, hookVerbs, rootVerbs, doctorVerbs, serviceVerbs, storeVerbs, tidyVerbs, hostVerbs, skillVerbs, identityVerbs, negotiateVerbs, declareVerbs, signalVerbs, deployVerbs, conductorVerbs, leaseVerbs, orgVerbs, modelVerbs, profileVerbs, sysmlVerbs, drumbeatVerbs, remoteVerbs, driveVerbs, demoVerbs, programVerbs, plumbingVerbs,
)

var fullProgram = &Program{Table: verbs, Full: true, Help: (*Call).showHelp}

// FullMain is the program tutti-full. It does not return.
func FullMain() { fullProgram.Main() }
