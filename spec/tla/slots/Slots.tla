-------------------------------- MODULE Slots --------------------------------
\* Models: the calls that an endpoint holds, against its draining and removal.
\* Go: pkg/dispatch/slots.go Slots, Slot.
\* Grain: one action is one atomic operation; taking and giving back a lease are
\* one action each, because InFlight shows that they are atomic.
\* Left out: two Releases of one Slot at once, which the lease decides.
\* Drawn: state, used.
EXTENDS Naturals, FiniteSets

CONSTANTS Callers, \* goroutines; each may call anything, and holds one slot at most
          Limit,   \* what NewSlots was given; 0 is no limit
          Bug      \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Callers) /\ Callers # {}
       /\ Limit \in Nat

VARIABLES used,    \* the counter of the field inFlight
          state,   \* the field state
          retired, \* the field retired
          idle,    \* how often the idle function has run
          slot,    \* per caller: its slot, never admitted, held or ended
          call,    \* per caller: the call it is in, "" for none
          pc,      \* per caller: the step of the call that comes next
          last     \* the last step: operation, caller, result once the call has ended
vars == <<used, state, retired, idle, slot, call, pc, last>>

Held == {c \in Callers : slot[c] = "held"}
Passing == {c \in Callers : pc[c] \in {"check", "undo"}}

TypeOK == /\ used \in 0..Cardinality(Callers)
          /\ state \in {"open", "draining", "removed"}
          /\ retired \in BOOLEAN
          /\ idle \in Nat
          /\ slot \in [Callers -> {"none", "held", "ended"}]
          /\ call \in [Callers -> {"", "Begin", "Release", "Remove"}]
          /\ pc \in [Callers -> {"", "full", "check", "undo", "state", "count", "claim"}]
-----------------------------------------------------------------------------
Init == /\ used = 0 /\ state = "open" /\ retired = FALSE /\ idle = 0
        /\ slot = [c \in Callers |-> "none"]
        /\ call = [c \in Callers |-> ""]
        /\ pc = [c \in Callers |-> ""]
        /\ last = [op |-> "Init", by |-> "", res |-> ""]

\* The call goes on with a step, or has ended with what it returns.
Goes(op, c, in, next) == /\ call' = [call EXCEPT ![c] = in]
                         /\ pc' = [pc EXCEPT ![c] = next]
                         /\ last' = [op |-> op, by |-> c, res |-> ""]
Ends(op, c, res) == /\ call' = [call EXCEPT ![c] = ""]
                    /\ pc' = [pc EXCEPT ![c] = ""]
                    /\ last' = [op |-> op, by |-> c, res |-> res]

\* What a call returns that ends by retiring.
Returned(c) == CASE call[c] = "Begin" -> "draining"
                 [] call[c] = "Release" -> "true"
                 [] OTHER -> ""

\* Go: (*Slots).Begin, the lease.
BeginAcquire(c) == /\ pc[c] = "" /\ slot[c] # "held"
                   /\ Limit = 0 \/ used < Limit \/ Bug = "NoLimit"
                   /\ used' = used + 1
                   /\ Goes("BeginAcquire", c, "Begin", "check")
                   /\ UNCHANGED <<state, retired, idle, slot>>

\* Go: (*Slots).Begin, the lease that is refused.
BeginFull(c) == /\ pc[c] = "" /\ slot[c] # "held"
                /\ Limit # 0 /\ used >= Limit
                /\ Goes("BeginFull", c, "Begin", "full")
                /\ UNCHANGED <<used, state, retired, idle, slot>>

\* Go: (*Slots).Begin, the load of the state that says whether waiting could help.
BeginFullState(c) == /\ pc[c] = "full"
                     /\ Ends("BeginFullState", c, IF state = "open" \/ Bug = "FullHidesDraining" THEN "full" ELSE "draining")
                     /\ UNCHANGED <<used, state, retired, idle, slot>>

\* Go: (*Slots).Begin, the load of the state that admits.
BeginAdmits(c) == /\ pc[c] = "check"
                  /\ state = "open" \/ Bug = "AdmitsUnchecked"
                  /\ slot' = [slot EXCEPT ![c] = "held"]
                  /\ Ends("BeginAdmits", c, "slot")
                  /\ UNCHANGED <<used, state, retired, idle>>

\* Go: (*Slots).Begin, the load of the state that refuses.
BeginClosed(c) == /\ pc[c] = "check"
                  /\ state # "open"
                  /\ Goes("BeginClosed", c, "Begin", "undo")
                  /\ UNCHANGED <<used, state, retired, idle, slot>>

\* Go: (*Slot).Release, of the lease of a call that Begin refuses.
BeginUndo(c) == /\ pc[c] = "undo"
                /\ used' = IF Bug = "RefusedKeepsSlot" THEN used ELSE used - 1
                /\ Goes("BeginUndo", c, "Begin", "state")
                /\ UNCHANGED <<state, retired, idle, slot>>

\* Go: (*Slot).Release, of the lease.
ReleaseGive(c) == /\ pc[c] = "" /\ slot[c] = "held"
                  /\ used' = used - 1
                  /\ slot' = [slot EXCEPT ![c] = "ended"]
                  /\ IF Bug = "ReleaseNeverRetires"
                     THEN Ends("ReleaseGive", c, "true")
                     ELSE Goes("ReleaseGive", c, "Release", "state")
                  /\ UNCHANGED <<state, retired, idle>>

\* Go: (*Slot).Release, of a slot that has ended or never was.
ReleaseAgain(c) == /\ pc[c] = "" /\ slot[c] # "held"
                   /\ used' = IF Bug = "ReleaseTwice" /\ used > 0 THEN used - 1 ELSE used
                   /\ Ends("ReleaseAgain", c, "false")
                   /\ UNCHANGED <<state, retired, idle, slot>>

\* Go: (*Slots).Drain, which changes open Slots only.
Drain(c) == /\ pc[c] = ""
            /\ state' = IF state = "open" THEN "draining" ELSE state
            /\ Ends("Drain", c, "")
            /\ UNCHANGED <<used, retired, idle, slot>>

\* Go: (*Slots).Resume, which changes draining Slots only.
Resume(c) == /\ pc[c] = ""
             /\ state' = IF state = "draining" \/ Bug = "ResumeRevives" THEN "open" ELSE state
             /\ Ends("Resume", c, "")
             /\ UNCHANGED <<used, retired, idle, slot>>

\* Go: (*Slots).Remove, the store.
RemoveStore(c) == /\ pc[c] = ""
                  /\ state' = IF Bug = "RemoveDrains" THEN "draining" ELSE "removed"
                  /\ slot' = IF Bug = "RemoveTakesSlots" THEN [d \in Callers |-> "ended"] ELSE slot
                  /\ Goes("RemoveStore", c, "Remove", "state")
                  /\ UNCHANGED <<used, retired, idle>>

\* Go: (*Slots).retire, the load of the state.
RetireState(c) == /\ pc[c] = "state"
                  /\ IF state = "removed"
                     THEN Goes("RetireState", c, call[c], "count")
                     ELSE Ends("RetireState", c, Returned(c))
                  /\ UNCHANGED <<used, state, retired, idle, slot>>

\* Go: (*Slots).retire, the load of the count.
RetireCount(c) == /\ pc[c] = "count"
                  /\ IF used = 0 \/ Bug = "RetiresUncounted"
                     THEN Goes("RetireCount", c, call[c], "claim")
                     ELSE Ends("RetireCount", c, Returned(c))
                  /\ UNCHANGED <<used, state, retired, idle, slot>>

\* Go: (*Slots).retire, the compare-and-swap, and the idle function if it succeeds.
RetireClaim(c) == /\ pc[c] = "claim"
                  /\ retired' = TRUE
                  /\ idle' = IF ~retired \/ Bug = "ClaimsTwice" THEN idle + 1 ELSE idle
                  /\ Ends("RetireClaim", c, Returned(c))
                  /\ UNCHANGED <<used, state, slot>>

Next == \E c \in Callers : \/ BeginAcquire(c)
                           \/ BeginFull(c)
                           \/ BeginFullState(c)
                           \/ BeginAdmits(c)
                           \/ BeginClosed(c)
                           \/ BeginUndo(c)
                           \/ ReleaseGive(c)
                           \/ ReleaseAgain(c)
                           \/ Drain(c)
                           \/ Resume(c)
                           \/ RemoveStore(c)
                           \/ RetireState(c)
                           \/ RetireCount(c)
                           \/ RetireClaim(c)

\* A call that has begun goes on, and whoever holds a slot gives it back in the
\* end: it may do other things before, hence strong fairness for that one.
Spec == /\ Init
        /\ [][Next]_vars
        /\ \A c \in Callers : /\ WF_vars(BeginFullState(c))
                              /\ WF_vars(BeginAdmits(c))
                              /\ WF_vars(BeginClosed(c))
                              /\ WF_vars(BeginUndo(c))
                              /\ WF_vars(RetireState(c))
                              /\ WF_vars(RetireCount(c))
                              /\ WF_vars(RetireClaim(c))
                              /\ SF_vars(ReleaseGive(c))
-----------------------------------------------------------------------------
\* Claim: Begin on draining or removed Slots answers ErrDraining and keeps no slot.
AdmitsOnlyWhileOpen == [][\A c \in Callers : slot[c] # "held" /\ slot'[c] = "held" => state = "open"]_vars
FullOnlyWhileOpen == [][last'.res = "full" => state = "open"]_vars
UsedMatchesSlots == used = Cardinality(Held) + Cardinality(Passing)

\* Claim: Slots held at once never exceed the limit of Slots.
NeverOverLimit == Limit # 0 => Cardinality(Held) <= Limit

\* Claim: A call that Begin admitted holds its slot until Release, whatever the
\* Slots become meanwhile.
HoldsUntilRelease ==
  [][\A c \in Callers : slot[c] = "held" /\ slot'[c] # "held" => last'.op = "ReleaseGive" /\ last'.by = c]_vars

\* Claim: After Remove, the idle function runs exactly once, when the last slot
\* has come back.
IdleOnce == idle <= 1
IdleOnlyWithoutCalls == [][idle' > idle => state = "removed" /\ Held = {}]_vars

\* The same, as what happens in the end. Refused calls that overlapped without a gap
\* would keep the idle function off for as long, as the documentation of Slots says;
\* so it is promised once they stop.
IdleInTheEnd == <>[](\A c \in Callers : call[c] # "Begin") => (state = "removed" ~> idle = 1)

\* Claim: Remove is final: Drain and Resume after it change nothing.
RemoveIsFinal == [][state = "removed" => state' = "removed"]_vars
RemoveRemoves == [][last'.op = "RemoveStore" => state' = "removed"]_vars

\* Claim: The first Release of a Slot gives it back and returns true; every later
\* one returns false and changes nothing.
LaterReleaseChangesNothing == [][last'.res = "false" => UNCHANGED <<used, state, retired, idle, slot>>]_vars
-----------------------------------------------------------------------------
Witness_RefusedWhileClosed == last.res # "draining"
Witness_HeldAcrossRemove == ~(state = "removed" /\ Held # {})
Witness_IdleByRelease == ~(last.op = "RetireClaim" /\ last.res = "true" /\ idle = 1)
Witness_IdleByRefusedCall == ~(last.op = "RetireClaim" /\ last.res = "draining" /\ idle = 1)
Witness_ClaimLost == ~(\E c, d \in Callers : c # d /\ pc[c] = "claim" /\ pc[d] = "claim")
Witness_IdleWhileRefusing == ~(idle = 1 /\ used > 0)
=============================================================================
