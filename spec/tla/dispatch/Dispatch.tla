------------------------------ MODULE Dispatch ------------------------------
\* Models: attempts of calls at members that are full, fail, are left out and are removed:
\* whom an attempt may go to, who is told no, when a call is repeated, and the slot that every
\* way gives back.
\* Go: pkg/dispatch/loop.go Loop.
\* Go: pkg/dispatch/call.go Call.
\* Go: pkg/dispatch/attempts.go Attempts.
\* Go: pkg/dispatch/retry.go RetryConfig.
\* Grain: one action is one operation of the Loop. Slots has the steps of admission against
\* draining, Publication what is published when.
\* Left out: passive health, which PassiveHealth has, and with it trials and last resorts; keys;
\* waiting; time. Every change is published at once. A policy is a wish: it picks the member that is
\* wished for if it may, else another one.
\* Drawn: phase.
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS N,        \* members
          Callers,  \* calls under way at once
          Limit,    \* Spec.Limit; 0 is no limit
          Attempts, \* RetryConfig.Attempts
          Calls,    \* how many calls there may be
          Burst,    \* RetryBudgetConfig.Burst; nothing is earned
          Reports,  \* how often Report may be called
          Removals, \* how many members may be removed
          Others,   \* how many calls of one attempt somebody else may make
          Bug       \* the planted fault, "None" for none

ASSUME /\ {N, Attempts} \subseteq Nat \ {0} /\ IsFiniteSet(Callers)
       /\ {Limit, Calls, Burst, Reports, Removals, Others} \subseteq Nat

Members == 1..N

VARIABLES used,     \* per member: slots taken
          out,      \* members that Report leaves out
          removed,  \* members that Update took away
          released, \* per member: how often its value was released
          saved,    \* retries in the budget
          paid,     \* per caller: the attempt that is to come was paid from it
          others,   \* per member: calls of somebody else that it holds
          budget,   \* what is left of Calls, Reports and Others
          phase,    \* per caller: idle, ready for an attempt, held, answered or over
          safe,     \* per caller: the call may be repeated
          visits,   \* per caller: the members it tried, the least recently tried first
          spent,    \* per caller: those of them that are not tried again
          sent,     \* per caller: attempts that were sent
          to,       \* per caller: the member of the last attempt, 0 for none
          result,   \* per caller: how that attempt was judged, "" while it is not
          last      \* the last step: operation, who, arguments, result

world == <<used, out, removed, released, others>>
self == <<paid, safe, visits, spent, sent, to, result>>
vars == <<world, saved, budget, phase, self, last>>

Outcomes == {"success", "failure", "overloaded", "unreachable", "cancelled"}
Range(s) == {s[i] : i \in 1..Len(s)}

TypeOK == /\ {used, others} \subseteq [Members -> 0..(2 * Cardinality(Callers) + Others)]
          /\ {out, removed} \subseteq SUBSET Members
          /\ released \in [Members -> 0..2]
          /\ saved \in 0..Burst
          /\ paid \in [Callers -> BOOLEAN]
          /\ phase \in [Callers -> {"idle", "ready", "held", "answered", "over"}]
          /\ visits \in [Callers -> UNION {[1..n -> Members] : n \in 0..N}]
          /\ spent \in [Callers -> SUBSET Members]
          /\ sent \in [Callers -> 0..(Attempts + 1)]
          /\ to \in [Callers -> 0..N]
          /\ result \in [Callers -> Outcomes \cup {""}]
-----------------------------------------------------------------------------
Say(op, c, arg, res) == last' = [op |-> op, by |-> c, arg |-> arg, res |-> res]

Init == /\ used = [m \in Members |-> 0]
        /\ out = {} /\ removed = {}
        /\ released = [m \in Members |-> 0]
        /\ saved = Burst
        /\ paid = [c \in Callers |-> FALSE]
        /\ others = [m \in Members |-> 0]
        /\ budget = [calls |-> Calls, reports |-> Reports, others |-> Others]
        /\ phase = [c \in Callers |-> "idle"]
        /\ safe = [c \in Callers |-> FALSE]
        /\ visits = [c \in Callers |-> <<>>]
        /\ spent = [c \in Callers |-> {}]
        /\ sent = [c \in Callers |-> 0]
        /\ to = [c \in Callers |-> 0]
        /\ result = [c \in Callers |-> ""]
        /\ last = [op |-> "Init", by |-> "", arg |-> 0, res |-> ""]

Eligible == (Members \ removed) \ (IF Bug = "AdmitsTheUnhealthy" THEN {} ELSE out)
Room(m) == Limit = 0 \/ used[m] < Limit \/ Bug = "NoLimit"
Tried(c) == IF Bug = "ForgetsTheTried" THEN {} ELSE Range(visits[c])
Untried(c) == Eligible \ Tried(c)

\* Whom an attempt may go to at first: an untried member that has room.
First(c) == {m \in Untried(c) : Room(m)}

\* Whom it may go back to: of those tried, the one that was tried before the others.
Back(c) == {m \in Range(visits[c]) : /\ m \in Eligible /\ Room(m)
                                     /\ m \notin spent[c] \/ Bug = "ReturnsToTheSpent"}
Place(c, m) == CHOOSE i \in 1..Len(visits[c]) : visits[c][i] = m
Again(c) == CHOOSE m \in Back(c) :
              \A n \in Back(c) : IF Bug = "LatestFirst" THEN Place(c, n) <= Place(c, m) ELSE Place(c, m) <= Place(c, n)

Without(s, m) == SelectSeq(s, LAMBDA x : x # m)

\* The call is over and leaves nothing behind.
Finish(c) == /\ phase' = [phase EXCEPT ![c] = "idle"]
             /\ safe' = [safe EXCEPT ![c] = FALSE]
             /\ paid' = [paid EXCEPT ![c] = FALSE]
             /\ visits' = [visits EXCEPT ![c] = <<>>]
             /\ spent' = [spent EXCEPT ![c] = {}]
             /\ sent' = [sent EXCEPT ![c] = 0]
             /\ to' = [to EXCEPT ![c] = 0]
             /\ result' = [result EXCEPT ![c] = ""]

\* World: a caller begins a call, that may be repeated or not.
Begin(c, s) == /\ phase[c] = "idle"
               /\ budget.calls > 0
               /\ budget' = [budget EXCEPT !.calls = @ - 1]
               /\ phase' = [phase EXCEPT ![c] = "ready"]
               /\ safe' = [safe EXCEPT ![c] = s]
               /\ Say("Begin", c, IF s THEN 1 ELSE 0, "")
               /\ UNCHANGED <<world, saved, paid, visits, spent, sent, to, result>>

\* An attempt is admitted at a member.
Admit(c, m, op, wish, how) ==
  /\ used' = [used EXCEPT ![m] = @ + 1]
  /\ phase' = [phase EXCEPT ![c] = "held"]
  /\ visits' = [visits EXCEPT ![c] = Append(Without(@, m), m)]
  /\ to' = [to EXCEPT ![c] = m]
  /\ result' = [result EXCEPT ![c] = ""]
  /\ Say(op, c, wish, how)
  /\ paid' = [paid EXCEPT ![c] = FALSE]
  /\ UNCHANGED <<out, removed, others, released, saved, budget, safe, spent, sent>>

\* Whether an attempt is turned away although somebody has room.
Hasty(c, wish) == Bug = "RefusesWithRoom" /\ wish \in Untried(c) /\ ~Room(wish)

\* Go: (*Loop).Acquire, at a member that was not tried. The policy wishes for one; if that one
\* has no room, it is another that has.
AcquireFirst(c, wish) ==
  /\ phase[c] = "ready"
  /\ First(c) # {} /\ ~Hasty(c, wish)
  /\ LET m == IF wish \in First(c) THEN wish ELSE CHOOSE n \in First(c) : TRUE
     IN Admit(c, m, "AcquireFirst", wish, IF m = 1 THEN "1" ELSE "2")

\* Go: (*Loop).Acquire, at the least recently tried.
AcquireAgain(c, wish) ==
  /\ phase[c] = "ready"
  /\ First(c) = {} /\ Back(c) # {}
  /\ Admit(c, Again(c), "AcquireAgain", wish, IF Again(c) = 1 THEN "1" ELSE "2")

\* Why there is nobody.
Why(c) == IF removed = Members THEN "empty"
          ELSE IF Eligible = {} THEN "no eligible"
          ELSE IF Untried(c) = {} THEN "all tried"
          ELSE "at capacity"

\* Go: (*Loop).Acquire, of an attempt for which there is nobody. What came of the last attempt is
\* what came of the call.
AcquireRefused(c, wish) ==
  /\ phase[c] = "ready"
  /\ (First(c) = {} /\ Back(c) = {}) \/ Hasty(c, wish)
  /\ Finish(c)
  /\ saved' = IF paid[c] /\ Bug # "KeepsTheRetry" THEN saved + 1 ELSE saved
  /\ Say("AcquireRefused", c, wish, Why(c))
  /\ UNCHANGED <<world, budget>>

\* The slot of a call comes back. The value of a removed member is released with the last one.
GivesBack(m) == /\ used' = [used EXCEPT ![m] = @ - 1]
                /\ released' = [released EXCEPT ![m] = IF used[m] = 1 /\ m \in removed /\ Bug # "ReleasesAtOnce" /\ Bug # "NeverReleases" THEN @ + 1 ELSE @]

Judge(c, o, answered) ==
  /\ result' = [result EXCEPT ![c] = o]
  /\ spent' = [spent EXCEPT ![c] = IF answered \/ o \in {"overloaded", "unreachable"} THEN @ \cup {to[c]} ELSE @]
  /\ sent' = [sent EXCEPT ![c] = IF o = "unreachable" \/ @ > Attempts THEN @ ELSE @ + 1]

\* Go: (*Call).Answered. The slot stays.
Answered(c, o) == /\ phase[c] = "held"
                  /\ o # "unreachable"
                  /\ phase' = [phase EXCEPT ![c] = "answered"]
                  /\ Say("Answered", c, o, "true")
                  /\ result' = [result EXCEPT ![c] = o]
                  /\ IF Bug = "EndsAtTheAnswer" THEN used' = [used EXCEPT ![to[c]] = @ - 1] ELSE UNCHANGED used
                  /\ UNCHANGED <<out, removed, others, released, saved, budget, paid, safe, visits, spent, sent, to>>

\* Go: (*Call).End, of an attempt that was not judged before.
End(c, o) == /\ phase[c] = "held"
             /\ phase' = [phase EXCEPT ![c] = "over"]
             /\ IF Bug = "LeaksTheUnreachable" /\ o = "unreachable" THEN UNCHANGED <<used, released>> ELSE GivesBack(to[c])
             /\ Judge(c, o, FALSE)
             /\ Say("End", c, o, "true")
             /\ UNCHANGED <<out, removed, others, saved, budget, paid, safe, visits, to>>

\* Go: (*Call).End, of an attempt whose answer has begun: it is judged already.
EndAnswered(c) == /\ phase[c] = "answered"
                  /\ phase' = [phase EXCEPT ![c] = "over"]
                  /\ GivesBack(to[c])
                  /\ Judge(c, result[c], TRUE)
                  /\ Say("EndAnswered", c, "", "true")
                  /\ UNCHANGED <<out, removed, others, saved, budget, paid, safe, visits, to>>

\* Go: (*Call).End, of an attempt that has ended.
EndAgain(c) == /\ phase[c] = "over"
               /\ IF Bug = "EndsTwice" /\ used[to[c]] > 0 THEN GivesBack(to[c]) ELSE UNCHANGED <<used, released>>
               /\ Say("EndAgain", c, "", "false")
               /\ UNCHANGED <<out, removed, others, saved, budget, phase, self>>

\* What is to be done after an attempt.
Step(c) ==
  LET o == result[c]
      someone == Untried(c) # {}
      back == Range(visits[c]) \ spent[c] # {}
  IN IF o = "success" THEN "served"
     ELSE IF o = "cancelled" /\ Bug # "RepeatsTheCancelled" THEN "the caller's own"
     ELSE IF o = "unreachable" /\ someone THEN "nothing sent"
     ELSE IF o # "unreachable" /\ ~safe[c] /\ Bug # "RepeatsAnything" THEN "not repeatable"
     ELSE IF ~someone /\ ~back THEN "nobody left"
     ELSE IF Bug = "NeverGivesUp" THEN "paid"
     ELSE IF o = "unreachable" /\ ~back THEN "nobody left"
     ELSE IF sent[c] >= Attempts + (IF Bug = "OneTooMany" THEN 1 ELSE 0) THEN "enough attempts"
     ELSE IF saved = 0 /\ Bug # "SpendsWithoutEnd" THEN "budget spent"
     ELSE "paid"

Goes == {"nothing sent", "paid"}

\* Go: (*Loop).Next, that has the call repeated.
NextRepeats(c) ==
  /\ phase[c] = "over"
  /\ Step(c) \in Goes
  /\ saved' = IF saved > 0 /\ (Step(c) = "paid" \/ Bug = "PaysForTheUnsent") THEN saved - 1 ELSE saved
  /\ phase' = [phase EXCEPT ![c] = "ready"]
  /\ Say("NextRepeats", c, "", Step(c))
  /\ paid' = [paid EXCEPT ![c] = saved' < saved]
  /\ UNCHANGED <<world, budget, safe, visits, spent, sent, to, result>>

\* Go: (*Loop).Next, that ends the call.
NextStops(c) ==
  /\ phase[c] = "over"
  /\ Step(c) \notin Goes
  /\ Finish(c)
  /\ Say("NextStops", c, "", Step(c))
  /\ UNCHANGED <<world, saved, budget>>

\* Go: (*Loop).Report, of a probe that has found another condition.
Report(m) == /\ m \notin removed
             /\ budget.reports > 0
             /\ budget' = [budget EXCEPT !.reports = @ - 1]
             /\ out' = IF m \in out THEN out \ {m} ELSE out \cup {m}
             /\ Say("Report", "", m, "")
             /\ UNCHANGED <<used, removed, released, others, saved, phase, self>>

\* Go: (*Loop).Update, of a list without the member.
Update(m) == /\ m \notin removed
             /\ Cardinality(removed) < Removals
             /\ removed' = IF Bug = "RemovesNobody" THEN removed ELSE removed \cup {m}
             /\ out' = out \ {m}
             /\ released' = [released EXCEPT ![m] = IF Bug = "ReleasesAtOnce" \/ (used[m] = 0 /\ Bug # "NeverReleases") THEN @ + 1 ELSE @]
             /\ Say("Update", "", m, "")
             /\ UNCHANGED <<used, others, saved, budget, phase, self>>

\* Go: (*Loop).Acquire, of somebody else's call.
OthersTake(m) == /\ m \in Eligible /\ Room(m)
                 /\ budget.others > 0
                 /\ budget' = [budget EXCEPT !.others = @ - 1]
                 /\ others' = [others EXCEPT ![m] = @ + 1]
                 /\ used' = [used EXCEPT ![m] = @ + 1]
                 /\ Say("OthersTake", "", m, IF m = 1 THEN "1" ELSE "2")
                 /\ UNCHANGED <<out, removed, released, saved, phase, self>>

\* Go: (*Call).End, of somebody else's call.
OthersGive(m) == /\ others[m] > 0
                 /\ others' = [others EXCEPT ![m] = @ - 1]
                 /\ GivesBack(m)
                 /\ Say("OthersGive", "", m, "true")
                 /\ UNCHANGED <<out, removed, saved, budget, phase, self>>

\* World: nothing happens any more.
Rest == /\ budget.calls = 0
        /\ \A c \in Callers : phase[c] = "idle"
        /\ Say("Rest", "", 0, "")
        /\ UNCHANGED <<world, saved, budget, phase, self>>

Acquire(c) == \E wish \in Members : AcquireFirst(c, wish) \/ AcquireAgain(c, wish) \/ AcquireRefused(c, wish)

Next == \/ \E c \in Callers : \/ \E s \in BOOLEAN : Begin(c, s)
                              \/ \E wish \in Members : AcquireFirst(c, wish)
                              \/ \E wish \in Members : AcquireAgain(c, wish)
                              \/ \E wish \in Members : AcquireRefused(c, wish)
                              \/ \E o \in Outcomes : Answered(c, o)
                              \/ \E o \in Outcomes : End(c, o)
                              \/ EndAnswered(c)
                              \/ EndAgain(c)
                              \/ NextRepeats(c)
                              \/ NextStops(c)
        \/ \E m \in Members : OthersTake(m)
        \/ \E m \in Members : OthersGive(m)
        \/ \E m \in Members : Report(m)
        \/ \E m \in Members : Update(m)
        \/ Rest

\* The state without the last step, for a graph in which each comes once.
Forget == /\ last.op \notin {"Init", "Forget"}
              /\ last' = [op |-> "Forget", by |-> "", arg |-> 0, res |-> ""]
              /\ UNCHANGED <<world, saved, budget, phase, self>>
GraphSpec == Init /\ [][Forget \/ (last.op \in {"Init", "Forget"} /\ Next)]_vars

\* A caller goes on, and a member answers or a deadline ends in the end.
Spec == /\ Init
        /\ [][Next]_vars
        /\ \A c \in Callers : /\ WF_vars(Acquire(c))
                              /\ WF_vars(\E o \in Outcomes : End(c, o))
                              /\ WF_vars(EndAnswered(c))
                              /\ WF_vars(NextRepeats(c) \/ NextStops(c))
-----------------------------------------------------------------------------
Holders(m) == {c \in Callers : phase[c] \in {"held", "answered"} /\ to[c] = m}

\* Claim: Every refusal leaves no slot held.
SlotsAreCalls == \A m \in Members : used[m] = Cardinality(Holders(m)) + others[m]

NeverOverLimit == Limit # 0 => \A m \in Members : used[m] <= Limit

\* Claim: A call is refused only while no eligible member that it may go to has room.
RefusedOnlyWithoutRoom ==
  [][\A c \in Callers : last'.op = "AcquireRefused" /\ last'.by = c =>
       \A m \in (Members \ removed) \ out : m \in spent[c] \/ (Limit # 0 /\ used[m] >= Limit)]_vars

\* A repetition goes to a member that was not tried while there is one with room.
RepetitionsGoElsewhere ==
  [][\A c \in Callers : phase[c] = "ready" /\ phase'[c] = "held" /\ to'[c] \in Range(visits[c]) =>
       \A m \in ((Members \ removed) \ out) \ Range(visits[c]) : Limit # 0 /\ used[m] >= Limit]_vars

\* Claim: A member that answered, that refused, or that could not be reached is not tried again.
NeverBackToTheSpent == [][\A c \in Callers : phase[c] = "ready" /\ phase'[c] = "held" => to'[c] \notin spent[c]]_vars

\* Of those that may be tried again, the least recently tried is.
LeastRecentlyTriedFirst ==
  [][\A c \in Callers : last'.op = "AcquireAgain" /\ last'.by = c =>
       \A m \in Back(c) : Place(c, to'[c]) <= Place(c, m)]_vars

\* Nobody is given a call who is left out or was removed.
AdmitsNobodyOut == [][\A c \in Callers : phase[c] = "ready" /\ phase'[c] = "held" => to'[c] \notin out \cup removed]_vars

\* A removal is one.
RemovesWhoIsRemoved == [][last'.op = "Update" => last'.arg \in removed']_vars

\* Claim: A call that may have been received is repeated only if it is repeatable.
RepeatsOnlyWhatIsSafe == [][\A c \in Callers : last'.op = "NextRepeats" /\ last'.by = c => safe[c] \/ result[c] = "unreachable"]_vars

\* Claim: A call that was served, that its caller left, or that was its caller's mistake is not repeated.
EndsWhatIsOver == [][\A c \in Callers : last'.op = "NextRepeats" /\ last'.by = c => result[c] \notin {"success", "cancelled"}]_vars

\* Claim: A call is sent at most Attempts times, trials aside.
SentAtMost == \A c \in Callers : sent[c] <= Attempts

\* What was never sent costs nothing; a repetition of what was sent costs one that was saved.
PaysForWhatWasSent ==
  [][\A c \in Callers : last'.op = "NextRepeats" /\ last'.by = c =>
       saved' = IF last'.res = "paid" THEN saved - 1 ELSE saved]_vars

\* Claim: A retry for which nobody is found is given back to the budget.
UnusedRetriesComeBack ==
  [][\A c \in Callers : last'.op = "AcquireRefused" /\ last'.by = c => saved' = IF paid[c] THEN saved + 1 ELSE saved]_vars

\* Claim: The first End of an attempt ends it and returns true; every later one returns false and changes nothing.
EndsOnce == [][last'.op = "EndAgain" => UNCHANGED used]_vars

\* Claim: Answered judges the attempt and keeps its slot; End then tells what came later.
AnswersKeepTheSlot == [][last'.op = "Answered" => UNCHANGED used]_vars

\* Claim: Each value of a member that was removed is released once, when its last call has ended.
ReleasedOnceAndLast == \A m \in Members : released[m] = IF m \in removed /\ used[m] = 0 THEN 1 ELSE 0

\* Every call ends.
EveryCallEnds == \A c \in Callers : phase[c] # "idle" ~> phase[c] = "idle"
-----------------------------------------------------------------------------
Witness_Elsewhere == \A c \in Callers : Len(visits[c]) < 2
Witness_RoomElsewhere == ~(last.op = "AcquireFirst" /\ last.res = "1" /\ last.arg = 2 /\ out = {} /\ removed = {})
Witness_GoesBack == last.op # "AcquireAgain"
Witness_AtCapacity == last.res # "at capacity"
Witness_AllTried == last.res # "all tried"
Witness_Empty == last.res # "empty"
Witness_NobodyEligible == last.res # "no eligible"
Witness_BudgetSpent == last.res # "budget spent"
Witness_NothingSent == last.res # "nothing sent"
Witness_EnoughAttempts == last.res # "enough attempts"
Witness_HeldWhileRemoved == \A m \in Members : m \in removed => used[m] = 0
=============================================================================
