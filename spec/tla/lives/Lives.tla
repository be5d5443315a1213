------------------------------- MODULE Lives -------------------------------
\* Models: the lives of endpoints that join, leave and come back, the operator's word on
\* them, and when an endpoint is closed.
\* Go: pkg/dispatch/balancer.go Balancer.
\* Go: pkg/dispatch/call.go Call.
\* Grain: one action is one call. Update and SetStatus are serialised and each is published by
\* one swap; Publication has what is published when, Slots the steps of draining.
\* Left out: weights, limits and places, load, health, Unavailable, Close, and lists
\* that are refused for another reason than an Endpoint that belongs to somebody else.
\* Drawn: at.
EXTENDS Naturals, FiniteSets

CONSTANTS N,         \* identities
          Endpoints, \* Endpoint values, from 1
          Callers,   \* goroutines that hold a call each
          Updates,   \* how often the list may change
          Changes,   \* how often the operator may say something
          Bug        \* the planted fault, "None" for none

ASSUME {N, Endpoints} \subseteq Nat \ {0} /\ IsFiniteSet(Callers) /\ {Updates, Changes} \subseteq Nat

Ids == 1..N

VARIABLES at,     \* per identity: its Endpoint, 0 if it is not in the list
          life,   \* per identity: its incarnation, 0 if it is not in the list
          listed, \* per identity: the status in the list
          said,   \* per identity: the operator's word
          born,   \* how many incarnations there were
          held,   \* per caller: the life and the Endpoint of the call that it has
          closed, \* per Endpoint: how often it was closed
          budget, \* what is left of Updates and Changes
          last    \* the last step: operation, who, arguments, result

lives == <<at, life, listed, said, born>>
vars == <<lives, held, closed, budget, last>>

None == [life |-> 0, endpoint |-> 0]
Statuses == {"ready", "draining"}

TypeOK == /\ at \in [Ids -> 0..Endpoints]
          /\ life \in [Ids -> 0..(N * (Updates + 1))] /\ born \in 0..(N * (Updates + 1))
          /\ listed \in [Ids -> {"ready", "draining"}] /\ said \in [Ids -> {"ready", "draining"}]
          /\ closed \in [1..Endpoints -> 0..(Updates + 1)]
-----------------------------------------------------------------------------
Say(op, by, args, res) == last' = [op |-> op, by |-> by, args |-> args, res |-> res]

Init == /\ at = [i \in Ids |-> IF i = 1 THEN 1 ELSE 0]
        /\ life = at
        /\ listed = [i \in Ids |-> "ready"]
        /\ said = [i \in Ids |-> "ready"]
        /\ born = 1
        /\ held = [c \in Callers |-> None]
        /\ closed = [e \in 1..Endpoints |-> 0]
        /\ budget = [updates |-> Updates, changes |-> Changes]
        /\ last = [op |-> "Init", by |-> "", args |-> "", res |-> ""]

\* Endpoints whose life has ended for the list, and not for a call.
Leaving == {held[c].endpoint : c \in {d \in Callers : held[d] # None /\ \A i \in Ids : life[i] # held[d].life}}

\* Whether an Endpoint belongs to another identity, or to a life that has not ended.
Taken(i, e) == /\ e # 0
               /\ \/ e \in Leaving /\ Bug # "AdoptsTheLeaving"
                  \/ \E j \in Ids \ {i} : at[j] = e /\ Bug # "SharesEndpoints"

\* A list that leaves an endpoint out says nothing of its status.
Proper(e, s) == e = 0 => s = "ready"

IsHeld(n, by) == \E c \in Callers : by[c].life = n

\* Go: (*Balancer).Update, of a list that says another thing of one identity, or the same
\* again, and is published.
Update(i, e, s) ==
  LET stays == e = at[i] /\ Bug # "BeginsAgain"
      begins == e # 0 /\ ~stays
  IN /\ budget.updates > 0
     /\ Proper(e, s) /\ ~Taken(i, e)
     /\ at' = [at EXCEPT ![i] = e]
     /\ life' = [life EXCEPT ![i] = IF e = 0 THEN 0
                                    ELSE IF stays \/ (Bug = "KeepsTheLife" /\ @ # 0) THEN @ ELSE born + 1]
     /\ born' = IF begins THEN born + 1 ELSE born
     /\ listed' = [listed EXCEPT ![i] = s]
     /\ said' = [said EXCEPT ![i] = IF (stays /\ Bug # "ForgetsTheWord") \/ Bug = "KeepsTheWord" THEN @ ELSE "ready"]
     /\ closed' = IF at[i] = 0 \/ stays \/ (IsHeld(life[i], held) /\ Bug # "ClosesAtOnce") THEN closed
                  ELSE [closed EXCEPT ![at[i]] = @ + 1]
     /\ budget' = [budget EXCEPT !.updates = @ - 1]
     /\ Say("Update", "", [id |-> i, endpoint |-> e, status |-> s], "")
     /\ UNCHANGED held

\* Go: (*Balancer).Update, of a list that is refused.
UpdateRefused(i, e, s) ==
  /\ budget.updates > 0
  /\ Proper(e, s) /\ Taken(i, e)
  /\ listed' = IF Bug = "TakesAHalf" THEN [listed EXCEPT ![i] = s] ELSE listed
  /\ Say("UpdateRefused", "", [id |-> i, endpoint |-> e, status |-> s], "shared")
  /\ UNCHANGED <<at, life, said, born, held, closed, budget>>

\* Go: (*Balancer).SetStatus, of an endpoint that is in the list or not.
SetStatus(i, s) ==
  /\ budget.changes > 0
  /\ budget' = [budget EXCEPT !.changes = @ - 1]
  /\ said' = IF at[i] = 0 THEN said ELSE [said EXCEPT ![i] = s]
  /\ Say("SetStatus", "", [id |-> i, status |-> s], IF at[i] = 0 THEN "unknown" ELSE "")
  /\ UNCHANGED <<at, life, listed, born, held, closed>>

Status(i) == IF said[i] # "ready" THEN said[i] ELSE IF Bug = "IgnoresTheList" THEN "ready" ELSE listed[i]

\* Go: (*Balancer).Acquire, of a call that the policy wants to go to an endpoint.
Call(c, i) ==
  /\ held[c] = None
  /\ LET admits == at[i] # 0 /\ Status(i) = "ready"
     IN /\ held' = IF admits THEN [held EXCEPT ![c] = [life |-> life[i], endpoint |-> at[i]]] ELSE held
        /\ Say("Call", c, [id |-> i], IF admits THEN "admitted" ELSE "not eligible")
  /\ UNCHANGED <<lives, closed, budget>>

\* Go: (*Call).End.
End(c) ==
  /\ held[c] # None
  /\ held' = [held EXCEPT ![c] = None]
  /\ LET n == held[c].life
         over == (\A i \in Ids : life[i] # n) /\ ~IsHeld(n, held')
     IN closed' = [closed EXCEPT ![held[c].endpoint] = IF over /\ Bug # "ClosesAtOnce" THEN @ + 1 ELSE @]
  /\ Say("End", c, [id |-> 0], "")
  /\ UNCHANGED <<lives, budget>>

Next == \/ \E i \in Ids, e \in 0..Endpoints, s \in Statuses : Update(i, e, s)
        \/ \E i \in Ids, e \in 0..Endpoints, s \in Statuses : UpdateRefused(i, e, s)
        \/ \E i \in Ids, s \in Statuses : SetStatus(i, s)
        \/ \E c \in Callers : \/ \E i \in Ids : Call(c, i)
                              \/ End(c)

\* Nothing has to happen: no fairness.
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
\* No two identities have one Endpoint.
EndpointsAreOwn == \A i, j \in Ids : i # j /\ at[i] = at[j] => at[i] = 0

\* An Endpoint that was removed is refused until its last call has ended.
OneLifeAtATime == \A c \in Callers, i \in Ids : held[c] # None /\ at[i] = held[c].endpoint => life[i] = held[c].life

\* Claim: A member that stays in the list with the same Endpoint keeps its incarnation, and another
\* Endpoint begins a new one.
WhoStaysLivesOn == [][\A i \in Ids : at'[i] = at[i] => life'[i] = life[i]]_vars

\* Who comes back, or gets another Endpoint, begins anew.
WhoComesBackBeginsAnew == [][\A i \in Ids : at'[i] # at[i] /\ at'[i] # 0 => life'[i] > born /\ said'[i] = "ready"]_vars

\* What SetStatus says holds for the incarnation until SetStatus of Ready, whatever Update says;
\* then the list's status applies.
TheWordStands ==
  [][/\ \A i \in Ids : said'[i] # said[i] => last'.op = "SetStatus" \/ at'[i] # at[i]
     /\ last'.res = "admitted" => LET i == last'.args.id IN said[i] = "ready" /\ listed[i] = "ready"]_vars

\* Claim: After an error of Update the members and the picker are as before.
AllOrNothing == [][last'.op = "UpdateRefused" => UNCHANGED <<lives, held, closed>>]_vars

\* Claim: Each Endpoint that was removed is closed once, when its last call and its probes have ended.
ClosesOnceAndLast ==
  [][\A e \in 1..Endpoints : closed'[e] # closed[e] => /\ closed'[e] = closed[e] + 1
                                                      /\ \A c \in Callers : held'[c].endpoint # e
                                                      /\ \A i \in Ids : at'[i] # e]_vars
-----------------------------------------------------------------------------
Witness_ComesBack == \A i \in Ids : at[i] # 0 => closed[at[i]] = 0
Witness_HeldByAFormerLife == Leaving = {}
Witness_TwoLivesAtOnce == \A c \in Callers, i \in Ids : ~(held[c] # None /\ i = 1 /\ life[i] > held[c].life)
Witness_WordOverList == ~(last.op = "Update" /\ \E i \in Ids : said[i] = "draining" /\ listed[i] = "ready")
Witness_ListAfterWord == ~(last.op = "SetStatus" /\ last.args.status = "ready" /\ last.res = "" /\ listed[last.args.id] = "draining")
Witness_RefusesTheLeaving == ~(last.op = "UpdateRefused" /\ last.args.endpoint \in Leaving)
=============================================================================
