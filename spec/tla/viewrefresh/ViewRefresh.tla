---------------------------- MODULE ViewRefresh ----------------------------
\* Models: how the published picker follows health and status, with a table that is
\* carried from one picker to the next, and what admission makes of a picker that is behind.
\* Go: pkg/dispatch/balancer.go Balancer.
\* Go: pkg/dispatch/membership.go member.
\* Go: pkg/dispatch/control.go published.
\* Go: pkg/dispatch/call.go call.
\* Go: pkg/dispatch/attempt.go attempt.
\* Grain: one action is one operation on what goroutines share: the mutex, the
\* quarantine of one member, its slots, the published pointer, the kick. Unlocking
\* belongs to the action before it. The calls on a quarantine and on slots are one
\* action each, because Quarantine and Slots show that they may be.
\* Left out: joining and leaving members, which Lives has, Close, retries, load, ObserveState,
\* why a policy takes one eligible member and not another, and the ward, which Ward has:
\* MaxAside is 100. A policy that keeps no table makes one for each View.
\* Drawn: lock, stage.
EXTENDS Naturals, FiniteSets

CONSTANTS N,        \* members; they are numbered in the order of the list
          Callers,  \* goroutines that make calls, one at a time each
          Failures, \* how often a member may be set aside
          Changes,  \* how often the operator may change a status
          Refusals, \* how often the policy may refuse to prepare
          Bug       \* the planted fault, "None" for none

ASSUME N \in Nat \ {0} /\ IsFiniteSet(Callers) /\ {Failures, Changes, Refusals} \subseteq Nat

Members == 1..N

VARIABLES aside,   \* per member: set aside by its quarantine
          over,    \* per member: its time aside is over
          status,  \* per member: what the operator said last
          open,    \* per member: its slots admit
          table,   \* the newest table of the policy: which members it was made of
          current, \* the published picker: which members its table has
          kick,    \* the event kick is fired
          timer,   \* the timer that pokes is set
          again,   \* what the refresh under way will set it for: it met a member that stays aside
          due,     \* per member: its time aside was over at the instant of the look under way
          control, \* the control loop: waiting, woken, working with the lock held, or between two looks
          lock,    \* who holds mu: "", "control" or "operator"
          stage,   \* what the holder of mu does next
          next,    \* the member that comes next in its loop
          view,    \* what it has sampled
          target,  \* the member that the operator speaks of, and its status before
          pc,      \* per caller: what it does next
          has,     \* per caller: the picker it loaded
          choice,  \* per caller: the member it picked, 0 for none
          stale,   \* per caller: its permit is older than the member's last time aside
          budget,  \* what is left of Failures, Changes and Refusals
          barred,  \* per caller: members that were draining since before its call began
          last     \* the last step: operation, who, which member, result

facts == <<aside, over, status, open>>
loop == <<kick, timer, again, due, control>>
work == <<lock, stage, next, view, target>>
calls == <<pc, has, choice, stale>>
vars == <<facts, table, current, loop, work, calls, budget, barred, last>>

Drained(m, s) == s = "draining" /\ Bug # "DrainsInName"
Truth == [m \in Members |-> ~aside[m] /\ status[m] = "ready"]
Nothing == [m \in Members |-> FALSE]

TypeOK == /\ {aside, over, open, table, current, view, due} \subseteq [Members -> BOOLEAN]
          /\ status \in [Members -> {"ready", "draining"}]
          /\ kick \in BOOLEAN /\ timer \in BOOLEAN /\ again \in BOOLEAN
          /\ control \in {"waiting", "woken", "working", "between"}
          /\ lock \in {"", "control", "operator"}
          /\ stage \in {"", "return", "sample", "prepare", "drain", "publish"}
          /\ next \in 1..N
          /\ target \in [member : 0..N, status : {"", "ready", "draining"}]
          /\ pc \in [Callers -> {"idle", "pick", "permit", "begin", "work", "poke"}]
          /\ has \in [Callers -> [Members -> BOOLEAN]]
          /\ choice \in [Callers -> 0..N]
          /\ stale \in [Callers -> BOOLEAN]
          /\ barred \in [Callers -> SUBSET Members]
-----------------------------------------------------------------------------
Say(op, by, m, res) == last' = [op |-> op, by |-> by, member |-> m, res |-> res]

Init == /\ aside = Nothing /\ over = Nothing
        /\ status = [m \in Members |-> "ready"]
        /\ open = [m \in Members |-> TRUE]
        /\ table = Truth /\ current = Truth
        /\ kick = FALSE /\ timer = FALSE /\ again = FALSE /\ due = Nothing /\ control = "waiting"
        /\ lock = "" /\ stage = "" /\ next = 1 /\ view = Nothing
        /\ target = [member |-> 0, status |-> ""]
        /\ pc = [c \in Callers |-> "idle"]
        /\ has = [c \in Callers |-> Nothing]
        /\ choice = [c \in Callers |-> 0]
        /\ stale = [c \in Callers |-> FALSE]
        /\ budget = [failures |-> Failures, changes |-> Changes, refusals |-> Refusals]
        /\ barred = [c \in Callers |-> {}]
        /\ last = [op |-> "Init", by |-> "", member |-> 0, res |-> ""]

\* Whoever holds mu goes to the next member of its loop, or on to another stage.
Advance(then) == IF next < N THEN next' = next + 1 /\ stage' = stage
                 ELSE next' = 1 /\ stage' = then

\* The lock is given back.
Unlock == /\ lock' = "" /\ stage' = "" /\ next' = 1 /\ view' = Nothing
          /\ target' = [member |-> 0, status |-> ""]

\* The operator opens before it publishes, and closes after.
ClosesLast == lock = "operator" /\ status[target.member] = "draining" /\ Bug # "ClosesFirst"

\* SetStatus gives the lock back; a refusal goes another way.
SetStatusReturns == /\ status' = IF Bug = "ForgetsTheWord" THEN [status EXCEPT ![target.member] = target.status] ELSE status
                    /\ Unlock

\* Go: (*Balancer).control, which a poke wakes, and which notes the instant.
ControlWake == /\ control = "waiting"
               /\ kick
               /\ kick' = FALSE
               /\ control' = "woken"
               /\ due' = over
               /\ Say("ControlWake", "control", 0, "")
               /\ UNCHANGED <<facts, table, current, timer, again, work, calls, budget, barred>>

\* Go: (*Balancer).comeBack, the lock.
ComeBackLock == /\ control = "woken"
                /\ lock = ""
                /\ control' = "working"
                /\ lock' = "control" /\ stage' = "return"
                /\ Say("ComeBackLock", "control", 0, "")
                /\ UNCHANGED <<facts, table, current, kick, timer, again, due, next, view, target, calls, budget, barred>>

\* Go: (*Balancer).comeBack, the return of one member. A member that stays aside
\* will set the timer. The lock is free after the last one.
ComeBack == /\ stage = "return"
            /\ aside' = [aside EXCEPT ![next] = @ /\ ~due[next]]
            /\ over' = [over EXCEPT ![next] = @ /\ ~due[next]]
            /\ due' = [due EXCEPT ![next] = FALSE]
            /\ again' = (again \/ aside'[next])
            /\ Advance("")
            /\ IF next < N THEN UNCHANGED <<lock, control>> ELSE lock' = "" /\ control' = "between"
            /\ Say("ComeBack", "control", next, "")
            /\ UNCHANGED <<status, open, table, current, kick, timer, view, target, calls, budget, barred>>

\* Go: (*Balancer).republish, the lock.
RepublishLock == /\ control = "between"
                 /\ lock = ""
                 /\ control' = "working"
                 /\ lock' = "control" /\ stage' = "sample"
                 /\ Say("RepublishLock", "control", 0, "")
                 /\ UNCHANGED <<facts, table, current, kick, timer, again, due, next, view, target, calls, budget, barred>>

\* Go: (*member).Sample, of one member.
Sample == /\ stage = "sample"
          /\ view' = [view EXCEPT ![next] = ~aside[next] /\ ~Drained(next, status[next])]
          /\ Advance("prepare")
          /\ Say("Sample", lock, next, "")
          /\ UNCHANGED <<facts, table, current, loop, lock, target, calls, budget, barred>>

\* Go: (*Balancer).prepare, the policy, which makes a table for the View, or carries
\* the newest over if it is of the same members.
Prepare == /\ stage = "prepare"
           /\ table' = IF Bug = "ReusesAlways" THEN table ELSE view
           /\ stage' = IF lock = "operator" /\ ~ClosesLast THEN "drain" ELSE "publish"
           /\ Say("Prepare", lock, 0, IF table = view /\ Bug # "ReusesNever" THEN "carried" ELSE "made")
           /\ UNCHANGED <<facts, current, loop, lock, next, view, target, calls, budget, barred>>

\* Go: (*Balancer).prepare, of a policy that refuses or panics. The control loop tries again
\* later; the operator is told, and its word is taken back.
PrepareRefused == /\ stage = "prepare"
                  /\ budget.refusals > 0
                  /\ budget' = [budget EXCEPT !.refusals = @ - 1]
                  /\ current' = IF Bug = "PublishesNothing" THEN Nothing ELSE current
                  /\ timer' = (timer \/ (lock = "control" /\ Bug # "GivesUp"))
                  /\ control' = IF lock = "control" THEN "waiting" ELSE control
                  /\ Unlock
                  /\ Say("PrepareRefused", lock, 0, "refused")
                  /\ again' = (lock = "operator" /\ again)
                  /\ status' = IF lock = "control" \/ Bug = "KeepsTheRefused" THEN status
                               ELSE [status EXCEPT ![target.member] = target.status]
                  /\ UNCHANGED <<aside, over, open, table, kick, due, calls, barred>>

\* Go: (*Balancer).republish, the store that publishes. The timer is set after it.
RepublishPublish == /\ stage = "publish" /\ lock = "control"
                    /\ current' = IF Bug = "PublishesTheOld" THEN current ELSE table
                    /\ timer' = (timer \/ again) /\ again' = FALSE
                    /\ control' = "waiting"
                    /\ Unlock
                    /\ Say("RepublishPublish", "control", 0, "published")
                    /\ UNCHANGED <<facts, table, kick, due, calls, budget, barred>>

\* Go: (*Balancer).SetStatus, the lock.
SetStatusLock(m, s) == /\ lock = ""
                       /\ budget.changes > 0
                       /\ status[m] # s
                       /\ budget' = [budget EXCEPT !.changes = @ - 1]
                       /\ lock' = "operator" /\ stage' = IF Bug = "SkipsTheSample" THEN "prepare" ELSE "sample"
                       /\ target' = [member |-> m, status |-> status[m]]
                       /\ status' = [status EXCEPT ![m] = s]
                       /\ barred' = IF s = "ready" THEN [c \in Callers |-> barred[c] \ {m}] ELSE barred
                       /\ Say("SetStatusLock", "operator", m, s)
                       /\ UNCHANGED <<aside, over, open, table, current, loop, next, view, calls>>

\* Go: (*Balancer).switchTo, which opens or closes the slots.
SetStatusDrain == /\ stage = "drain"
                  /\ open' = [open EXCEPT ![target.member] = ~Drained(target.member, status[target.member])]
                  /\ IF ClosesLast THEN SetStatusReturns
                     ELSE stage' = "publish" /\ UNCHANGED <<status, lock, next, view, target>>
                  /\ Say("SetStatusDrain", "operator", target.member, IF ClosesLast THEN "published" ELSE "")
                  /\ UNCHANGED <<aside, over, table, current, loop, calls, budget, barred>>

\* Go: (*Balancer).switchTo, the store that publishes.
SetStatusPublish == /\ stage = "publish" /\ lock = "operator"
                    /\ current' = table
                    /\ IF ClosesLast THEN stage' = "drain" /\ UNCHANGED <<status, lock, next, view, target>>
                       ELSE SetStatusReturns
                    /\ Say("SetStatusPublish", "operator", target.member, IF ClosesLast THEN "" ELSE "published")
                    /\ UNCHANGED <<aside, over, open, table, loop, calls, budget, barred>>

Ends(c) == /\ pc' = [pc EXCEPT ![c] = "idle"]
           /\ has' = [has EXCEPT ![c] = Nothing]
           /\ choice' = [choice EXCEPT ![c] = 0]
           /\ stale' = [stale EXCEPT ![c] = FALSE]
           /\ barred' = [barred EXCEPT ![c] = {}]

\* Members whose draining has been reported to the operator. The operator that is
\* at work has not been told yet, or has asked for the end of the draining.
Promised == {m \in Members : status[m] = "draining" /\ target.member # m}

\* Go: (*call).pick, the load of the picker, and what comes before it.
PickLoad(c) == /\ pc[c] = "idle"
               /\ pc' = [pc EXCEPT ![c] = "pick"]
               /\ has' = [has EXCEPT ![c] = current]
               /\ barred' = [barred EXCEPT ![c] = Promised]
               /\ Say("PickLoad", c, 0, "")
               /\ UNCHANGED <<facts, table, current, loop, work, choice, stale, budget>>

\* Go: (*call).pick, of one of the eligible members.
Pick(c, m) == /\ pc[c] = "pick"
              /\ IF Bug = "PicksFromTheLatest" THEN current[m] ELSE has[c][m]
              /\ pc' = [pc EXCEPT ![c] = "permit"]
              /\ has' = [has EXCEPT ![c] = Nothing]
              /\ choice' = [choice EXCEPT ![c] = m]
              /\ Say("Pick", c, m, "")
              /\ UNCHANGED <<facts, table, current, loop, work, stale, budget, barred>>

\* Go: (*call).pick, with nobody to pick.
PickNone(c) == /\ pc[c] = "pick"
               /\ has[c] = Nothing
               /\ Ends(c)
               /\ Say("PickNone", c, 0, "no eligible")
               /\ UNCHANGED <<facts, table, current, loop, work, budget>>

\* Go: (*attempt).enter, the permit of the quarantine.
Permit(c) == /\ pc[c] = "permit"
             /\ IF aside[choice[c]] /\ Bug # "AdmitsAside"
                THEN Ends(c) /\ Say("Permit", c, choice[c], "set aside")
                ELSE /\ pc' = [pc EXCEPT ![c] = "begin"]
                     /\ Say("Permit", c, choice[c], "")
                     /\ UNCHANGED <<has, choice, stale, barred>>
             /\ UNCHANGED <<facts, table, current, loop, work, budget>>

\* Go: (*attempt).enter, the slot.
Begin(c) == /\ pc[c] = "begin"
            /\ IF open[choice[c]]
               THEN /\ pc' = [pc EXCEPT ![c] = "work"]
                    /\ Say("Begin", c, choice[c], "admitted")
                    /\ UNCHANGED <<has, choice, stale, barred>>
               ELSE Ends(c) /\ Say("Begin", c, choice[c], "draining")
            /\ UNCHANGED <<facts, table, current, loop, work, budget>>

\* Go: (*attempt).release, of an attempt that changes nothing: it served, or its permit
\* is stale.
EndQuietly(c) == /\ pc[c] = "work"
                 /\ Ends(c)
                 /\ Say("EndQuietly", c, choice[c], "")
                 /\ UNCHANGED <<facts, table, current, loop, work, budget>>

\* Go: (*attempt).release, of the failure that sets the member aside.
EndSetsAside(c) == /\ pc[c] = "work"
                   /\ ~stale[c]
                   /\ budget.failures > 0
                   /\ budget' = [budget EXCEPT !.failures = @ - 1]
                   /\ LET m == choice[c]
                      IN /\ aside' = [aside EXCEPT ![m] = TRUE]
                         /\ over' = [over EXCEPT ![m] = Bug = "NoTimeAside"]
                         /\ stale' = [d \in Callers |-> stale[d] \/ (d # c /\ choice[d] = m /\ pc[d] \in {"begin", "work"})]
                         /\ Say("EndSetsAside", c, m, "")
                   /\ pc' = [pc EXCEPT ![c] = "poke"]
                   /\ UNCHANGED <<status, open, table, current, loop, work, has, choice, barred>>

\* Go: (*Balancer).poke, which never waits.
Poke(c) == /\ pc[c] = "poke"
           /\ kick' = (kick \/ Bug # "PokesNobody")
           /\ Ends(c)
           /\ Say("Poke", c, choice[c], "")
           /\ UNCHANGED <<facts, table, current, timer, again, due, control, work, budget>>

\* World: the time aside of a member is over.
TimeOver(m) == /\ aside[m] /\ ~over[m]
               /\ over' = [over EXCEPT ![m] = TRUE]
               /\ Say("TimeOver", "", m, "")
               /\ UNCHANGED <<aside, status, open, table, current, loop, work, calls, budget, barred>>

\* World: the timer rings, which pokes.
TimerRings == /\ timer
              /\ timer' = FALSE
              /\ kick' = TRUE
              /\ Say("TimerRings", "", 0, "")
              /\ UNCHANGED <<facts, table, current, again, due, control, work, calls, budget, barred>>

Next == \/ ControlWake
        \/ ComeBackLock
        \/ ComeBack
        \/ RepublishLock
        \/ Sample
        \/ Prepare
        \/ PrepareRefused
        \/ RepublishPublish
        \/ \E m \in Members, s \in {"ready", "draining"} : SetStatusLock(m, s)
        \/ SetStatusDrain
        \/ SetStatusPublish
        \/ \E c \in Callers : \/ PickLoad(c)
                              \/ \E m \in Members : Pick(c, m)
                              \/ PickNone(c)
                              \/ Permit(c)
                              \/ Begin(c)
                              \/ EndQuietly(c)
                              \/ EndSetsAside(c)
                              \/ Poke(c)
        \/ \E m \in Members : TimeOver(m)
        \/ TimerRings

\* Whoever holds the lock goes on, and so does the control loop when it is woken;
\* it competes with the operator for the lock, who stops coming in the end. A
\* caller that owes a poke gives it. Time passes, and the timer rings. The policy stops refusing in the
\* end, because Refusals is finite.
Spec == /\ Init
        /\ [][Next]_vars
        /\ WF_vars(ControlWake) /\ WF_vars(ComeBackLock) /\ WF_vars(ComeBack) /\ WF_vars(RepublishLock)
        /\ WF_vars(Sample) /\ WF_vars(Prepare) /\ WF_vars(RepublishPublish)
        /\ WF_vars(SetStatusDrain) /\ WF_vars(SetStatusPublish)
        /\ \A c \in Callers : WF_vars(Poke(c))
        /\ \A m \in Members : WF_vars(TimeOver(m))
        /\ WF_vars(TimerRings)
-----------------------------------------------------------------------------
\* A call picks what is eligible in the View that it loaded, whatever is published
\* meanwhile.
PicksFromOneView == [][\A c \in Callers : last'.op = "Pick" /\ last'.by = c => has[c][choice'[c]]]_vars

\* After a failed preparation the last good picker serves.
LastGoodServes == [][last'.op = "PrepareRefused" => UNCHANGED current]_vars

\* What admission forbids is not admitted, however old the picker is.
AdmitsNoneAside == [][\A c \in Callers : pc[c] = "permit" /\ pc'[c] = "begin" => ~aside[choice[c]]]_vars

\* Claim: A draining or removed endpoint gets no call that began after SetStatus or
\* Update returned.
NoCallAfterDraining == \A c \in Callers : pc[c] = "work" => choice[c] \notin barred[c]

\* What is published is what was sampled.
PublishesWhatItSampled == [][last'.op \in {"RepublishPublish", "SetStatusPublish"} => current' = view]_vars

\* A table serves only the View whose members it was made of, and then it is carried
\* over.
CarriesWhatFits == [][last'.op = "Prepare" => table' = view /\ (last'.res = "carried" <=> table = view)]_vars

\* A picker that is behind is going to be looked at.
BehindIsNoticed ==
  lock = "" /\ current # Truth => kick \/ timer \/ control # "waiting" \/ \E c \in Callers : pc[c] = "poke"

\* Whoever is set aside, by a call that it had, has all of its time before it, and
\* nothing but time ends that.
SetAsideForATime ==
  [][\A m \in Members : /\ ~aside[m] /\ aside'[m] => ~over'[m] /\ \E c \in Callers : pc[c] = "work" /\ choice[c] = m
                        /\ ~over[m] /\ over'[m] => last'.op = "TimeOver"]_vars

\* Whoever is to be picked is open, at every moment of a change too: so a call that
\* is refused finds in the newest picker who is there instead.
PublishesNobodyDrained == \A m \in Members : current[m] => open[m]

\* When nothing changes any more, the published picker becomes the truth.
TruthInTheEnd == <>[](current = Truth)

\* Claim: An endpoint that is set aside gets no new call until its backoff is over,
\* and then comes back by itself.
ComesBack == \A m \in Members : aside[m] ~> ~aside[m]
-----------------------------------------------------------------------------
Witness_CarriesATable == last.res # "carried"
Witness_PickerBehind == current = Truth
Witness_RefusedByQuarantine == last.res # "set aside"
Witness_RefusedBySlots == last.res # "draining" \/ last.op # "Begin"
Witness_WorksWhileDraining == \A c \in Callers : pc[c] = "work" => open[choice[c]]
Witness_StaleFailure == \A c \in Callers : ~stale[c]
Witness_NobodyEligible == last.op # "PickNone"
Witness_BarredFromDraining == \A c \in Callers : barred[c] = {}
Witness_RefusedWhileBehind == ~(last.op = "PrepareRefused" /\ current # Truth)
=============================================================================
