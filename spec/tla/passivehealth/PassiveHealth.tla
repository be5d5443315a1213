--------------------------- MODULE PassiveHealth ---------------------------
\* Models: who is left out, who may be tried, what a trial costs, and what the ends
\* of calls make of it.
\* Go: pkg/health/passive_health.go PassiveHealth.
\* Go: pkg/health/passive_endpoint.go PassiveEndpoint.
\* Go: pkg/health/passive_call.go PassiveCall.
\* Grain: one action is one call, because each is one critical section. One success
\* of a serving endpoint stands for as many as make one failed trial affordable and
\* its word as a peer certain, so that a verdict depends on the length of a run and
\* on whether a peer has served since it began; one lost call stands for as many as
\* are taken for a silence of the fleet. A call takes longer than what a success
\* wakes has to wait, and a tick longer than calls.
\* Left out: how great a share of calls an endpoint gets; the arithmetic of
\* evidence, of time and of backoff, which is always the longest; that an endpoint
\* serves a part, or is silent without a trial; suspects; calls that must not be
\* sent twice; the order in which the ejected are tried, which Dispatch has; that
\* losses pay for trials, and end ejections; a new endpoint, which shares nothing
\* with those that were there.
EXTENDS Integers, FiniteSets

CONSTANTS Endpoints,     \* there at first
          Calls,         \* that callers may have out at once
          Tries,         \* those of them that only make trials
          Ill,           \* endpoints that may refuse calls, fail them and be removed;
                         \* Tries alone makes their trials
          Run,           \* how many refused calls in a row convict
          Successes,     \* PassiveHealthConfig.ReturnSuccesses
          Trials,        \* PassiveHealthConfig.Trials
          Wait,          \* PassiveHealthConfig.MaxBackoff, in ticks
          Hold,          \* how long a trial may run, in ticks
          Outcomes,      \* of calls to endpoints that are not ejected
          TrialOutcomes, \* of calls to endpoints that are
          Bug            \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Endpoints) /\ Cardinality(Endpoints) >= 2
       /\ IsFiniteSet(Calls) /\ Calls # {} /\ Tries \subseteq Calls
       /\ Ill \subseteq Endpoints
       /\ {Run, Successes, Trials, Wait, Hold} \subseteq Nat \ {0}
       /\ Run >= 2 /\ Successes >= 2
       /\ Outcomes \subseteq {"success", "overloaded", "unreachable", "cancelled"}
       /\ TrialOutcomes \subseteq {"success", "failure", "overloaded", "unreachable", "cancelled"}

VARIABLES state,  \* per endpoint: the field state, or that it was removed
          cause,  \* per endpoint: the field cause
          run,    \* per endpoint: the field run, which is not counted to the end
          seen,   \* per endpoint: a peer has served since the run or the return began
          good,   \* per endpoint: the field successes while it returns
          left,   \* per endpoint: ticks until its next trial is due
          trial,  \* per endpoint: how long its trial has run, None if it has none
          call,   \* per call: where it is, and what it is there
          tokens, \* the field tokens, in whole trials
          lost,   \* a call was lost since the last that succeeded
          last    \* the last step: operation, whose call, where, outcome and result
vars == <<state, cause, run, seen, good, left, trial, call, tokens, lost, last>>
verdicts == <<state, cause, run, seen, good>>
trials == <<left, trial, tokens>>

None == -1
NoCall == [at |-> "", kind |-> "none"]
Kinds == {"plain", "trial", "late", "older", "gone"}
Causes == {"unreachable", "overloaded", "silent", "failures"}

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a < b THEN b ELSE a

Is(e, s) == state[e] = s
Open == {e \in Endpoints : state[e] \in {"serving", "returning"}}
Out == {e \in Endpoints : Is(e, "ejected")}
Running == {e \in Endpoints : trial[e] # None}
Free(e) == cause[e] = "unreachable"

TypeOK == /\ state \in [Endpoints -> {"serving", "returning", "ejected", "removed"}]
          /\ cause \in [Endpoints -> Causes \cup {"not ejected"}]
          /\ \A e \in Endpoints : Is(e, "ejected") <=> cause[e] # "not ejected"
          /\ run \in [Endpoints -> 0..(Run - 1)]
          /\ seen \in [Endpoints -> BOOLEAN]
          /\ good \in [Endpoints -> 0..(Successes - 1)]
          /\ left \in [Endpoints -> 0..Wait]
          /\ trial \in [Endpoints -> None..Hold]
          /\ call \in [Calls -> [at : Endpoints, kind : Kinds] \cup {NoCall}]
          /\ tokens \in 0..Trials
          /\ lost \in BOOLEAN
-----------------------------------------------------------------------------
Say(op, c, e, outcome, res) == last' = [op |-> op, call |-> c, at |-> e, outcome |-> outcome, res |-> res]

Init == /\ state = [e \in Endpoints |-> "serving"]
        /\ cause = [e \in Endpoints |-> "not ejected"]
        /\ run = [e \in Endpoints |-> 0]
        /\ seen = [e \in Endpoints |-> FALSE]
        /\ good = [e \in Endpoints |-> 0]
        /\ left = [e \in Endpoints |-> 0]
        /\ trial = [e \in Endpoints |-> None]
        /\ call = [c \in Calls |-> NoCall]
        /\ tokens = Trials
        /\ lost = FALSE
        /\ last = [op |-> "Init", call |-> "", at |-> "", outcome |-> "", res |-> FALSE]

At(c, e) == call[c].at = e
Kind(c, k) == call[c].kind = k
Idle(c) == call[c] = NoCall
Goes(c, e, kind) == call' = [call EXCEPT ![c] = [at |-> e, kind |-> kind]]

\* What becomes of other calls to the endpoint when its trial is over, when it is
\* ejected, and when it is removed.
TrialOver(e) == [c \in Calls |-> IF At(c, e) /\ Kind(c, "trial") THEN [call[c] EXCEPT !.kind = "plain"] ELSE call[c]]
Aged(kind) == CASE kind \in {"plain", "trial"} -> "late"
                [] kind = "late" -> "older"
                [] OTHER -> kind
OlderAt(e) == [c \in Calls |-> IF At(c, e) THEN [call[c] EXCEPT !.kind = Aged(@)] ELSE call[c]]
GoneAt(e) == [c \in Calls |-> IF At(c, e) THEN [call[c] EXCEPT !.kind = "gone"] ELSE call[c]]
Ends(c, calls) == call' = [calls EXCEPT ![c] = NoCall]

\* A caller goes to an endpoint that is not ejected, to one that was removed since it
\* looked, or, where there is nobody else, to one that is ejected.
MayGo(e) == Is(e, "ejected") => Open = {} \/ Bug = "GoesToTheEjected"

\* Go: (*PassiveEndpoint).Begin, of an endpoint that a policy has picked.
Begin(c, e) == /\ Idle(c) /\ c \notin Tries
               /\ MayGo(e)
               /\ Goes(c, e, IF Is(e, "removed") THEN "gone" ELSE "plain")
               /\ Say("Begin", c, e, "", FALSE)
               /\ UNCHANGED <<verdicts, trials, lost>>

Due(e) == /\ Is(e, "ejected") \/ (Is(e, "removed") /\ Bug = "TriesTheRemoved")
          /\ trial[e] = None \/ Bug = "TriesTwice"
          /\ left[e] = 0 \/ Bug = "TriesEarly"
          /\ Bug # "NeverTries"
AsksFor(c, e) == e \in Ill => Tries = {} \/ c \in Tries
Affords(e) == Free(e) \/ tokens >= 1 \/ Bug = "OverdrawsTheBudget"
MayTry(e) == Due(e) /\ Affords(e) /\ (Cardinality(Running) < Trials \/ Bug = "RunsAny")

\* Go: (*PassiveHealth).Trial, of an endpoint that is due, and that the budget affords.
TrialBegins(c, e) == /\ Idle(c) /\ AsksFor(c, e)
                     /\ MayTry(e)
                     /\ Goes(c, e, "trial")
                     /\ trial' = [trial EXCEPT ![e] = 0]
                     /\ tokens' = IF Free(e) \/ Bug = "PaysAtTheEnd" THEN tokens ELSE Max(0, tokens - 1)
                     /\ Say("TrialBegins", c, e, "", TRUE)
                     /\ UNCHANGED <<verdicts, left, lost>>

\* Go: (*PassiveHealth).Trial, that finds none.
TrialRefused(c, e) == /\ Idle(c) /\ AsksFor(c, e)
                      /\ ~MayTry(e)
                      /\ Say("TrialRefused", c, e, "", FALSE)
                      /\ UNCHANGED <<verdicts, trials, call, lost>>

\* The tokens once the trial of the endpoint is over; free if it cost no call.
GivenBack(e, free) == IF trial[e] # None /\ free /\ ~Free(e) THEN Min(tokens + 1, Trials) ELSE tokens

\* The ends of calls that lost and that succeeded, for the fleet.
Loses == lost' = TRUE
Wins == lost' = FALSE

\* Who waits for a trial is due soon, if somebody wakes it.
Waits(e) == Is(e, "ejected") /\ trial[e] = None
Wakes(who) == [e \in Endpoints |-> IF Waits(e) /\ e \in who THEN 0 ELSE left[e]]
WokenBySilence == IF lost /\ Bug # "SleepsOn" THEN Out ELSE {}

\* Go: (*PassiveEndpoint).End, of a call of a serving endpoint that succeeds. What is
\* sound takes no lock and wakes nobody.
EndServes(c) == \E e \in Endpoints :
  /\ At(c, e) /\ Kind(c, "plain") /\ Is(e, "serving")
  /\ "success" \in Outcomes
  /\ run' = [run EXCEPT ![e] = 0]
  /\ seen' = [f \in Endpoints |-> f \in Ill \ {e} /\ (seen[f] \/ run[f] > 0 \/ Is(f, "returning"))]
  /\ tokens' = Min(tokens + 1, Trials)
  /\ left' = Wakes(IF run[e] > 0 THEN WokenBySilence ELSE {})
  /\ Wins
  /\ Ends(c, call)
  /\ Say("EndServes", c, e, "success", FALSE)
  /\ UNCHANGED <<state, cause, good, trial>>

\* Go: (*PassiveEndpoint).End, of a call of a returning endpoint that succeeds.
EndReturns(c) == \E e \in Endpoints :
  /\ At(c, e) /\ Kind(c, "plain") /\ Is(e, "returning")
  /\ "success" \in Outcomes
  /\ LET back == good[e] + 1 >= Successes \/ Bug = "ReturnsAtOnce"
     IN /\ state' = [state EXCEPT ![e] = IF back THEN "serving" ELSE @]
        /\ good' = [good EXCEPT ![e] = IF back THEN 0 ELSE @ + 1]
        /\ seen' = [seen EXCEPT ![e] = @ /\ ~back]
  /\ run' = [run EXCEPT ![e] = 0]
  /\ left' = Wakes(WokenBySilence)
  /\ Wins
  /\ Ends(c, call)
  /\ Say("EndReturns", c, e, "success", FALSE)
  /\ UNCHANGED <<cause, trial, tokens>>

\* What convicts: a run that is long enough, or any while it returns, if a peer has
\* served since.
Convicts(e) == /\ run[e] + 1 >= Run \/ Is(e, "returning")
               /\ seen[e] \/ (Bug = "BlamesWhatFailsEverywhere" /\ run[e] + 1 >= Run)

\* Go: (*PassiveEndpoint).End, of a call that was refused, which is not enough. Of one
\* that returns there are few, so that a few peers do not convict it.
EndRefused(c) == \E e \in Open :
  /\ At(c, e) /\ Kind(c, "plain")
  /\ "overloaded" \in Outcomes /\ e \in Ill
  /\ ~Convicts(e)
  /\ Is(e, "returning") => run[e] + 1 < Run
  /\ run' = [run EXCEPT ![e] = Min(@ + 1, Run - 1)]
  /\ Loses
  /\ Ends(c, call)
  /\ Say("EndRefused", c, e, "overloaded", FALSE)
  /\ UNCHANGED <<state, cause, seen, good, trials>>

Ejects(e, why) ==
  /\ state' = [state EXCEPT ![e] = "ejected"]
  /\ cause' = [cause EXCEPT ![e] = why]
  /\ run' = [run EXCEPT ![e] = 0]
  /\ seen' = [seen EXCEPT ![e] = FALSE]
  /\ good' = [good EXCEPT ![e] = 0]
  /\ left' = [left EXCEPT ![e] = Wait]

\* Go: (*PassiveEndpoint).End, of the call that ejects: nothing could be sent, or it
\* was one refusal too many.
EndEjects(c, o) == \E e \in Endpoints :
  /\ e \in Open \/ (Is(e, "removed") /\ Bug = "EjectsTheRemoved")
  /\ At(c, e)
  /\ \/ Kind(c, "plain")
     \/ Kind(c, "late") /\ Bug = "CountsTheLate"
     \/ Kind(c, "gone") /\ Bug = "EjectsTheRemoved"
  /\ o \in Outcomes \cap {"unreachable", "overloaded"}
  /\ o = "overloaded" => e \in Ill /\ Convicts(e)
  /\ Ejects(e, o)
  /\ Loses
  /\ Ends(c, OlderAt(e))
  /\ Say("EndEjects", c, e, o, TRUE)
  /\ UNCHANGED <<trial, tokens>>

\* Go: (*PassiveEndpoint).End, of a call that the caller gave up, at an endpoint that
\* is not ejected.
EndSaysNothing(c) == \E e \in Open :
  /\ At(c, e) /\ Kind(c, "plain")
  /\ "cancelled" \in Outcomes
  /\ Ends(c, call)
  /\ run' = IF Bug = "CountsCancelled" THEN [run EXCEPT ![e] = Min(@ + 1, Run - 1)] ELSE run
  /\ Say("EndSaysNothing", c, e, "cancelled", FALSE)
  /\ UNCHANGED <<state, cause, seen, good, trials, lost>>

\* An ejected endpoint returns. Who wakes is due soon.
ComesBack(e, who) ==
  /\ state' = [state EXCEPT ![e] = IF Bug = "ServesAtOnce" THEN "serving" ELSE "returning"]
  /\ cause' = [cause EXCEPT ![e] = "not ejected"]
  /\ good' = [good EXCEPT ![e] = IF Bug = "ServesAtOnce" THEN 0 ELSE 1]
  /\ left' = [Wakes(who) EXCEPT ![e] = 0]
  /\ trial' = [trial EXCEPT ![e] = None]
  /\ tokens' = IF Bug = "KeepsTheToken" THEN tokens ELSE GivenBack(e, TRUE)
  /\ UNCHANGED <<run, seen>>

Alike(e) == IF Bug = "WakesNobody" THEN {} ELSE {f \in Out : cause[f] = cause[e]}

\* Go: (*PassiveEndpoint).End, of a call of an ejected endpoint that succeeds: its
\* trial, one that was taken for lost, or one that found nobody else.
EndBringsBack(c) == \E e \in Out :
  /\ At(c, e) /\ call[c].kind \in {"plain", "trial"}
  /\ "success" \in TrialOutcomes
  /\ ComesBack(e, Alike(e) \cup WokenBySilence)
  /\ Wins
  /\ Ends(c, TrialOver(e))
  /\ Say("EndBringsBack", c, e, "success", TRUE)

\* Go: (*PassiveEndpoint).End, of a late answer of an endpoint that was taken for
\* silent.
EndSpeaksLate(c) == \E e \in Out :
  /\ At(c, e) /\ Kind(c, "late")
  /\ cause[e] = "silent"
  /\ "success" \in TrialOutcomes
  /\ ComesBack(e, WokenBySilence)
  /\ Wins
  /\ Ends(c, TrialOver(e))
  /\ Say("EndSpeaksLate", c, e, "success", TRUE)

Fails(o) == o \in {"failure", "overloaded", "unreachable"}
CauseOf(o) == CASE o = "failure" -> "failures" [] OTHER -> o

\* Go: (*PassiveEndpoint).End, of a trial that does not succeed. One that cost no
\* call is given back.
EndTrialFails(c, o) == \E e \in Out :
  /\ At(c, e) /\ Kind(c, "trial")
  /\ o \in TrialOutcomes \ {"success"} /\ e \in Ill
  /\ cause' = [cause EXCEPT ![e] = IF Fails(o) THEN CauseOf(o) ELSE @]
  /\ left' = [left EXCEPT ![e] = IF Bug = "TriesAgainAtOnce" THEN 0 ELSE Wait]
  /\ trial' = [trial EXCEPT ![e] = None]
  /\ tokens' = GivenBack(e, o \in {"overloaded", "unreachable"} \/ Bug = "FailuresAreFree")
  /\ IF Fails(o) THEN Loses ELSE UNCHANGED lost
  /\ Ends(c, call)
  /\ Say("EndTrialFails", c, e, o, FALSE)
  /\ UNCHANGED <<state, run, seen, good>>

\* Go: (*PassiveEndpoint).End, of any other call of an ejected endpoint that does not
\* succeed, which is as good as a trial if one was due.
EndFindsNobody(c, o) == \E e \in Out :
  /\ At(c, e) /\ Kind(c, "plain")
  /\ o \in TrialOutcomes \ {"success"} /\ e \in Ill
  /\ LET counts == Fails(o) /\ Waits(e) /\ left[e] = 0
     IN /\ cause' = [cause EXCEPT ![e] = IF counts THEN CauseOf(o) ELSE @]
        /\ left' = [left EXCEPT ![e] = IF counts THEN Wait ELSE @]
  /\ IF Fails(o) THEN Loses ELSE UNCHANGED lost
  /\ Ends(c, call)
  /\ Say("EndFindsNobody", c, e, o, FALSE)
  /\ UNCHANGED <<state, run, seen, good, trial, tokens>>

\* Go: (*PassiveEndpoint).End, of a call that began before the last ejection.
EndLate(c, o) == \E e \in Endpoints :
  /\ At(c, e) /\ call[c].kind \in {"late", "older"}
  /\ o \in {"success", "unreachable"}
  /\ ~(o = "success" /\ Kind(c, "late") /\ Is(e, "ejected") /\ cause[e] = "silent")
  /\ left' = Wakes(IF o = "success" THEN WokenBySilence ELSE {})
  /\ IF o = "success" THEN Wins ELSE Loses
  /\ Ends(c, call)
  /\ Say("EndLate", c, e, o, FALSE)
  /\ UNCHANGED <<verdicts, trial, tokens>>

\* Go: (*PassiveEndpoint).End, of a call of an endpoint that was removed.
EndGone(c, o) == \E e \in Endpoints :
  /\ At(c, e) /\ Kind(c, "gone")
  /\ o \in {"success", "unreachable"}
  /\ Ends(c, call)
  /\ lost' = IF Bug = "CountsTheGone" THEN o # "success" ELSE lost
  /\ Say("EndGone", c, e, o, FALSE)
  /\ UNCHANGED <<verdicts, trials>>

\* Go: (*PassiveEndpoint).Probe, that passes, of an endpoint that could not be reached
\* or was silent.
ProbeBringsBack(e) == /\ Is(e, "ejected")
                      /\ cause[e] \in {"unreachable", "silent"} \/ Bug = "ProbesConvince"
                      /\ Bug # "ProbesForNothing"
                      /\ ComesBack(e, {})
                      /\ call' = TrialOver(e)
                      /\ Say("ProbeBringsBack", "", e, "", TRUE)
                      /\ UNCHANGED lost

\* Go: (*PassiveEndpoint).Probe, that passes, of any other.
ProbeMakesDue(e) == /\ ~(Is(e, "ejected") /\ cause[e] \in {"unreachable", "silent"}) \/ Bug = "ProbesForNothing"
                    /\ left' = [left EXCEPT ![e] = IF Waits(e) /\ Bug # "ProbesForNothing" THEN 0 ELSE @]
                    /\ Say("ProbeMakesDue", "", e, "", FALSE)
                    /\ UNCHANGED <<verdicts, trial, call, tokens, lost>>

\* Go: (*PassiveHealth).Remove, with calls and perhaps a trial under way.
Remove(e) == /\ ~Is(e, "removed") /\ e \in Ill
             /\ state' = [state EXCEPT ![e] = "removed"]
             /\ cause' = [cause EXCEPT ![e] = "not ejected"]
             /\ run' = [run EXCEPT ![e] = 0]
             /\ seen' = [seen EXCEPT ![e] = FALSE]
             /\ good' = [good EXCEPT ![e] = 0]
             /\ left' = [left EXCEPT ![e] = 0]
             /\ trial' = [trial EXCEPT ![e] = IF Bug = "LeavesTheTrial" THEN @ ELSE None]
             /\ tokens' = IF Bug = "LeaksAtRemoval" THEN tokens ELSE GivenBack(e, TRUE)
             /\ call' = IF Bug = "LeavesTheTrial" THEN call ELSE GoneAt(e)
             /\ Say("Remove", "", e, "", FALSE)
             /\ UNCHANGED lost

\* Go: (*PassiveHealth).LeastRecentlyTried, for a call that may go to this one only.
Ask(e) == /\ Say("Ask", "", e, "", Is(e, "ejected") /\ (trial[e] = None \/ Bug # "AsksInVain"))
          /\ UNCHANGED <<verdicts, trials, call, lost>>

Overdue(e) == trial[e] # None /\ trial[e] + 1 >= Hold /\ Bug # "HoldsForEver"

\* Go: (*PassiveHealth).Advance, when a tick has passed. A trial that has run for too
\* long counts as silent.
Tick == /\ cause' = [e \in Endpoints |-> IF Overdue(e) THEN "silent" ELSE cause[e]]
        /\ left' = [e \in Endpoints |-> IF Overdue(e) THEN Wait ELSE IF Waits(e) THEN Max(left[e] - 1, 0) ELSE left[e]]
        /\ trial' = [e \in Endpoints |-> IF trial[e] = None \/ Overdue(e) THEN None ELSE Min(trial[e] + 1, Hold)]
        /\ call' = [c \in Calls |-> IF Kind(c, "trial") /\ \E e \in Endpoints : At(c, e) /\ Overdue(e)
                                    THEN [call[c] EXCEPT !.kind = "plain"] ELSE call[c]]
        /\ tokens' = IF Bug = "PaysAtTheEnd" THEN Max(0, tokens - Cardinality({e \in Endpoints : Overdue(e)})) ELSE tokens
        /\ Say("Tick", "", "", "", FALSE)
        /\ UNCHANGED <<state, run, seen, good, lost>>

End(c) == \/ EndServes(c)
          \/ EndReturns(c)
          \/ EndRefused(c)
          \/ \E o \in Outcomes : EndEjects(c, o)
          \/ EndSaysNothing(c)
          \/ EndBringsBack(c)
          \/ EndSpeaksLate(c)
          \/ \E o \in TrialOutcomes : EndTrialFails(c, o)
          \/ \E o \in TrialOutcomes : EndFindsNobody(c, o)
          \/ \E o \in {"success", "unreachable"} : EndLate(c, o)
          \/ \E o \in {"success", "unreachable"} : EndGone(c, o)

Next == \/ \E c \in Calls : \/ \E e \in Endpoints : Begin(c, e)
                            \/ \E e \in Endpoints : TrialBegins(c, e)
                            \/ \E e \in Endpoints : TrialRefused(c, e)
                            \/ EndServes(c)
                            \/ EndReturns(c)
                            \/ EndRefused(c)
                            \/ \E o \in Outcomes : EndEjects(c, o)
                            \/ EndSaysNothing(c)
                            \/ EndBringsBack(c)
                            \/ EndSpeaksLate(c)
                            \/ \E o \in TrialOutcomes : EndTrialFails(c, o)
                            \/ \E o \in TrialOutcomes : EndFindsNobody(c, o)
                            \/ \E o \in {"success", "unreachable"} : EndLate(c, o)
                            \/ \E o \in {"success", "unreachable"} : EndGone(c, o)
        \/ \E e \in Endpoints : ProbeBringsBack(e)
        \/ \E e \in Endpoints : ProbeMakesDue(e)
        \/ \E e \in Endpoints : Remove(e)
        \/ \E e \in Ill : Ask(e)
        \/ Tick

\* The graph is made without the last step in between.
Forget == /\ last.op \notin {"Init", "Forget"}
          /\ last' = [op |-> "Forget", call |-> "", at |-> "", outcome |-> "", res |-> FALSE]
          /\ UNCHANGED <<verdicts, trials, call, lost>>
GraphSpec == Init /\ [][Forget \/ (last.op \in {"Init", "Forget"} /\ Next)]_vars

\* Time passes, every call ends, somebody keeps calling who is not out or alone, and
\* trying who is due, and an endpoint that is asked again and again answers at times.
Spec == /\ Init
        /\ [][Next]_vars
        /\ WF_vars(Tick)
        /\ \A c \in Calls : WF_vars(End(c))
        /\ \A e \in Endpoints : /\ SF_vars(\E c \in Calls : TrialBegins(c, e))
                                /\ SF_vars(\E c \in Calls : Begin(c, e))
                                /\ SF_vars(\E c \in Calls : At(c, e) /\ EndBringsBack(c))
                                /\ SF_vars(\E c \in Calls : At(c, e) /\ (EndServes(c) \/ EndReturns(c)))
-----------------------------------------------------------------------------
Op == last'.op
EndsAt(c, e) == call[c] # NoCall /\ last'.call = c /\ last'.at = e /\ Op \notin {"Begin", "TrialBegins", "TrialRefused"}
Ejected(e) == ~Is(e, "ejected") /\ state'[e] = "ejected"

\* Claim: At most one trial of an endpoint runs at once.
OneTrialEach == \A e \in Endpoints : Cardinality({c \in Calls : At(c, e) /\ Kind(c, "trial")}) <= 1

\* The budget bounds how many run at once.
RunsAtMost == Cardinality(Running) <= Trials

\* Trials run of endpoints that are ejected, and of those only, when they are due.
TrialsAreOfTheEjected == \A e \in Running : Is(e, "ejected")
TriesWhoIsDue == [][\A e \in Endpoints : Op = "TrialBegins" /\ last'.at = e => Is(e, "ejected") /\ trial[e] = None /\ left[e] = 0]_vars

\* A trial that costs a call is paid for when it begins, and given back when it has
\* cost none, or when nobody is asked for its result any more. So what is in the
\* bucket and what is out add up.
Paid(e) == trial[e] # None /\ ~Free(e)
Charged == {e \in Endpoints : trial[e] = None /\ trial'[e] # None /\ ~Free(e)}
Spent(e) == Op = "Tick" \/ (Op = "EndTrialFails" /\ last'.outcome \in {"failure", "cancelled"})
Returned == {e \in Endpoints : Paid(e) /\ trial'[e] = None /\ ~Spent(e)}
TokensAddUp ==
  [][LET earned == IF Op = "EndServes" THEN 1 ELSE 0
     IN /\ tokens' = Min(tokens + earned + Cardinality(Returned) - Cardinality(Charged), Trials)
        /\ tokens >= Cardinality(Charged)]_vars

\* An ejected endpoint gets no call but trials while another one is not ejected.
SparesTheEjected == [][\A e \in Endpoints : (Op = "Begin" /\ last'.at = e /\ Is(e, "ejected")) => Open = {}]_vars

\* Claim: What fails everywhere alike ejects nobody.
\* Claim: Cancelled and Invalid change nothing.
EjectsWithReason ==
  [][\A e \in Endpoints : Ejected(e) =>
       /\ Op = "EndEjects"
       /\ \/ last'.outcome = "unreachable"
          \/ seen[e] /\ (run[e] + 1 >= Run \/ Is(e, "returning"))]_vars
CancelledSaysNothing == [][Op = "EndSaysNothing" => UNCHANGED <<verdicts, trials, lost>>]_vars

\* Claim: What becomes of a call counts for nothing after Remove.
RemovedStays == [][\A e \in Endpoints : Is(e, "removed") => UNCHANGED <<state[e], cause[e], run[e], trial[e]>>]_vars
GoneChangesNothing == [][\A c \in Calls, e \in Endpoints : EndsAt(c, e) /\ Is(e, "removed") => UNCHANGED <<verdicts, trials, lost>>]_vars

\* Claim: Any other result of a call that began before the last ejection changes nothing.
LateChangesNothing ==
  [][\A c \in Calls, e \in Endpoints :
       EndsAt(c, e) /\ call[c].kind \in {"late", "older"} =>
         \/ UNCHANGED <<verdicts, trial, tokens>>
         \/ Kind(c, "late") /\ cause[e] = "silent" /\ last'.outcome = "success" /\ state'[e] = "returning"]_vars

\* Claim: An ejected endpoint whose trial succeeds is Returning, and Serving after ReturnSuccesses.
ComesBackByStages ==
  [][\A e \in Endpoints :
       /\ Is(e, "ejected") /\ state'[e] \in {"returning", "serving"} => state'[e] = "returning" /\ good'[e] = 1
       /\ Is(e, "ejected") /\ Op = "EndBringsBack" /\ last'.at = e => state'[e] = "returning"
       /\ Is(e, "returning") /\ state'[e] = "serving" => Op = "EndReturns" /\ good[e] + 1 = Successes]_vars

\* It returns because a call or a probe of it has passed, and not for being asked.
\* Claim: A probe that passes brings back an endpoint that nothing could be sent to.
ProbesDecide ==
  [][\A e \in Endpoints : (Op \in {"ProbeBringsBack", "ProbeMakesDue"} /\ last'.at = e /\ Is(e, "ejected")) =>
       IF cause[e] \in {"unreachable", "silent"} THEN state'[e] = "returning"
       ELSE Is(e, "ejected") /\ state'[e] = "ejected" /\ (Waits(e) => left'[e] = 0)]_vars

\* A trial that failed puts the next one off.
FailuresPutOff == [][Op = "EndTrialFails" => left'[last'.at] = Wait]_vars

\* Claim: A trial that does not end counts as silent after a while, so that the next can begin.
LostTrialsEnd == \A e \in Endpoints : trial[e] < Hold

\* A success makes those soon due that are out for the same cause.
WakesAlike ==
  [][Op = "EndBringsBack" => LET e == last'.at
                             IN \A f \in Out \ {e} : (Waits(f) /\ cause[f] = cause[e]) => left'[f] = 0]_vars

\* Claim: The first success after nobody served makes every ejected endpoint due within half a second, if it ends a run of failures or a trial.
WakesAfterSilence ==
  [][lost /\ Op \in {"EndBringsBack", "EndReturns", "EndSpeaksLate", "EndLate"} /\ last'.outcome = "success"
       => \A f \in Out : Waits(f) /\ state'[f] = "ejected" => left'[f] = 0]_vars

\* Claim: LeastRecentlyTried returns an ejected endpoint while there is one that allow lets through.
FindsTheEjected == [][Op = "Ask" => last'.res = Is(last'.at, "ejected")]_vars

\* An ejected endpoint that answers is back in the end, or removed.
BackInTheEnd == \A e \in Endpoints : Is(e, "ejected") ~> ~Is(e, "ejected")
-----------------------------------------------------------------------------
Witness_TwoTrials == Cardinality(Running) < 2
Witness_SpentAll == ~(tokens = 0 /\ Running = {} /\ Out # {})
Witness_RemovedUnderItsTrial == ~(last.op = "Remove" /\ \E c \in Calls : Kind(c, "gone"))
Witness_AllOut == Out # Endpoints
Witness_NobodyElse == last.op # "EndFindsNobody"
Witness_ConvictedByItsRun == ~(last.op = "EndEjects" /\ last.outcome = "overloaded")
Witness_BackToServing == ~\E e \in Endpoints : last.op = "EndReturns" /\ Is(e, "serving") /\ last.at = e
Witness_LostTrialAnswers == ~(last.op = "EndBringsBack" /\ Running # {})
Witness_LateAnswer == last.op # "EndSpeaksLate"
Witness_OlderCall == ~\E c \in Calls : Kind(c, "older")
Witness_ProbeUnderATrial == ~(last.op = "ProbeBringsBack" /\ \E c \in Calls : At(c, last.at) /\ Kind(c, "plain"))
=============================================================================
