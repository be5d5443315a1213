------------------------------ MODULE Circuit ------------------------------
\* Models: a circuit that is closed, open and half-open, and permits of its epochs.
\* Go: pkg/health/circuit.go Circuit.
\* Go: pkg/health/circuit_state.go CircuitState.
\* Grain: one action is one call, because each is one critical section.
\* Left out: the window of outcomes, which is arithmetic; the events, whose order
\* an explorer looks at; State, which shows what is compared anyway. Time is what
\* has passed since the circuit opened, or since a trial began, in ticks; the clock
\* stands still while it does not matter. A caller has one permit; one that takes
\* another has lost the first.
EXTENDS Integers, FiniteSets

CONSTANTS Calls,      \* permits that may be out at once
          Failures,   \* CircuitConfig.Failures
          OpenFor,    \* CircuitConfig.OpenFor, in ticks
          MaxOpenFor, \* CircuitConfig.MaxOpenFor, in ticks
          Trials,     \* CircuitConfig.Trials
          Successes,  \* CircuitConfig.Successes
          MaxHold,    \* CircuitConfig.MaxHold, in ticks
          Epochs,     \* how often the circuit may have a transition
          StepsBack,  \* how often the clock may step back
          StepSizes,  \* by how much, in ticks
          Bug         \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Calls) /\ Calls # {}
       /\ {Failures, OpenFor, MaxOpenFor, Trials, Successes, MaxHold, Epochs} \subseteq Nat \ {0}
       /\ StepSizes \subseteq Nat \ {0}
       /\ OpenFor <= MaxOpenFor
       /\ StepsBack \in Nat

VARIABLES mode,      \* the field mode
          epoch,     \* the field epoch
          failures,  \* the field failures
          successes, \* the field successes
          rounds,    \* the field rounds
          age,       \* now minus the field since; 0 unless open
          wait,      \* the field wait; 0 unless open
          permit,    \* per call: the epoch of its permit, or what became of it
          trial,     \* per call: its permit is out, and a half-open circuit issued it
          hold,      \* per call: now minus since of its ticket; 0 unless a trial is out
          back,      \* how often the clock may still step back
          last       \* the last call: operation, whose permit, outcome, number and result
vars == <<mode, epoch, failures, successes, rounds, age, wait, permit, trial, hold, back, last>>
counts == <<failures, successes>>
opening == <<rounds, age, wait>>
state == <<mode, epoch, counts, opening>>

None == -1    \* no permit yet
Ended == -2
Expired == -3 \* counted as cancelled, because it was held for too long

Outcomes == {"success", "failure", "overloaded", "cancelled"}
Failed == {"failure", "overloaded"}

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a < b THEN b ELSE a
RECURSIVE Doubled(_)
Doubled(n) == IF n <= 0 THEN OpenFor ELSE Min(2 * Doubled(n - 1), MaxOpenFor)

\* The times open that the jitter may draw from a whole.
Jittered(whole) == (whole - whole \div 2)..whole

\* A span is over on both sides: if it began so far in the future, the clock has
\* stepped back.
Over(passed, span) == passed >= span \/ (passed <= -span /\ Bug # "TrustsTheClock")

Furthest == CHOOSE n \in StepSizes : \A m \in StepSizes : m <= n

TypeOK == /\ mode \in {"closed", "open", "half-open"}
          /\ epoch \in 0..Epochs
          /\ failures \in 0..(Failures - 1)
          /\ successes \in 0..(Successes - 1)
          /\ rounds \in 0..Epochs
          /\ wait \in 0..MaxOpenFor
          /\ age \in -Furthest..MaxOpenFor
          /\ permit \in [Calls -> Expired..Epochs]
          /\ trial \in [Calls -> BOOLEAN]
          /\ hold \in [Calls -> -Furthest..MaxHold]
          /\ back \in 0..StepsBack
-----------------------------------------------------------------------------
Say(op, call, outcome, number, res) ==
  last' = [op |-> op, call |-> call, outcome |-> outcome, number |-> number, res |-> res]

Init == /\ mode = "closed" /\ epoch = 0
        /\ failures = 0 /\ successes = 0
        /\ rounds = 0 /\ age = 0 /\ wait = 0
        /\ permit = [c \in Calls |-> None]
        /\ trial = [c \in Calls |-> FALSE]
        /\ hold = [c \in Calls |-> 0]
        /\ back = StepsBack
        /\ last = [op |-> "Init", call |-> "", outcome |-> "", number |-> 0, res |-> 0]

IsTrial(c) == mode = "half-open" /\ permit[c] = epoch
Lapsed(c) == IsTrial(c) /\ Over(hold[c], MaxHold) /\ Bug # "HoldsForEver"
Live == {c \in Calls : IsTrial(c) /\ ~Lapsed(c)}

Available == \/ mode = "closed"
             \/ mode = "open" /\ Over(age, wait)
             \/ mode = "half-open" /\ Cardinality(Live) < Trials

\* What every timed call does first: what was held for too long counts as
\* cancelled, and a trial from the future has just begun.
Reclaimed == [c \in Calls |-> IF Lapsed(c) THEN Expired ELSE permit[c]]
Rebased == [c \in Calls |-> IF c \in Live /\ (hold[c] > 0 \/ Bug = "TrustsTheClock") THEN hold[c] ELSE 0]
Kept == [c \in Calls |-> trial[c] /\ permit'[c] >= 0]
NoHold == [c \in Calls |-> 0]

\* A caller whose permit acts ends it before it takes another.
MayAsk(c) == Reclaimed[c] # epoch

\* Go: (*Circuit).Acquire, of a closed circuit.
AcquireClosed(c) == /\ mode = "closed"
                    /\ MayAsk(c)
                    /\ permit' = [permit EXCEPT ![c] = epoch]
                    /\ trial' = [trial EXCEPT ![c] = FALSE]
                    /\ Say("AcquireClosed", c, "", 0, 0)
                    /\ UNCHANGED <<state, hold, back>>

\* Go: (*Circuit).Acquire, of an open circuit whose time is over.
AcquireFirst(c) == /\ mode = "open"
                   /\ Over(age, wait) \/ Bug = "TriesEarly"
                   /\ Bug # "NeverTries"
                   /\ mode' = "half-open"
                   /\ epoch' = epoch + 1
                   /\ age' = 0
                   /\ wait' = 0
                   /\ permit' = [permit EXCEPT ![c] = epoch + 1]
                   /\ trial' = [trial EXCEPT ![c] = TRUE]
                   /\ Say("AcquireFirst", c, "", 0, 0)
                   /\ UNCHANGED <<counts, rounds, hold, back>>

\* Go: (*Circuit).Acquire, of an open circuit whose time is not over.
AcquireOpen(c) == /\ mode = "open"
                  /\ ~Over(age, wait)
                  /\ age' = IF Bug = "TrustsTheClock" THEN age ELSE Max(age, 0)
                  /\ Say("AcquireOpen", c, "", 0, wait - age')
                  /\ UNCHANGED <<mode, epoch, counts, rounds, wait, permit, trial, hold, back>>

\* Go: (*Circuit).Acquire, of a half-open circuit that has a trial left.
AcquireTrial(c) == /\ mode = "half-open"
                   /\ MayAsk(c)
                   /\ Cardinality(Live) < Trials \/ Bug = "NoLimit"
                   /\ permit' = [Reclaimed EXCEPT ![c] = epoch]
                   /\ trial' = [Kept EXCEPT ![c] = TRUE]
                   /\ hold' = [Rebased EXCEPT ![c] = 0]
                   /\ Say("AcquireTrial", c, "", 0, 0)
                   /\ UNCHANGED <<state, back>>

\* Go: (*Circuit).Acquire, of a half-open circuit whose trials are all out.
AcquireTaken(c) == /\ mode = "half-open"
                   /\ MayAsk(c)
                   /\ Cardinality(Live) >= Trials
                   /\ permit' = Reclaimed
                   /\ trial' = Kept
                   /\ hold' = Rebased
                   /\ Say("AcquireTaken", c, "", 0, -1)
                   /\ UNCHANGED <<state, back>>

\* The missing epoch of the sibling: a permit acts wherever its kind fits.
Acts(c) == /\ Reclaimed[c] >= 0
           /\ \/ Reclaimed[c] = epoch
              \/ Bug = "MatchesTheKind" /\ mode = IF trial[c] THEN "half-open" ELSE "closed"

\* What every End of a permit that is out does to it.
Ends(c) == /\ permit' = [Reclaimed EXCEPT ![c] = IF Bug = "KeepsThePermit" THEN @ ELSE Ended]
           /\ trial' = Kept

\* Go: (*Circuit).End, of no permit, or one that was ended or held for too long.
EndAgain(c, outcome) == /\ IF Bug = "CountsExpired" THEN permit[c] < 0 ELSE Reclaimed[c] < 0
                        /\ permit' = Reclaimed
                        /\ trial' = Kept
                        /\ hold' = Rebased
                        /\ Say("EndAgain", c, outcome, 0, Reclaimed[c])
                        /\ UNCHANGED <<state, back>>

\* Go: (*Circuit).End, of a permit of an earlier epoch.
EndStale(c, outcome) == /\ Reclaimed[c] >= 0
                        /\ ~Acts(c)
                        /\ Ends(c)
                        /\ hold' = Rebased
                        /\ Say("EndStale", c, outcome, 0, -4)
                        /\ UNCHANGED <<state, back>>

\* Go: (*Circuit).End, of a call that says nothing.
EndCancelled(c) == /\ Acts(c)
                   /\ Bug # "CountsCancelled"
                   /\ Ends(c)
                   /\ hold' = [Rebased EXCEPT ![c] = 0]
                   /\ Say("EndCancelled", c, "cancelled", 0, 0)
                   /\ UNCHANGED <<state, back>>

\* Go: (*Circuit).End, of a success while closed.
EndSuccess(c) == /\ mode = "closed"
                 /\ Acts(c)
                 /\ failures' = IF Bug = "KeepsCounting" THEN failures ELSE 0
                 /\ Ends(c)
                 /\ Say("EndSuccess", c, "success", 0, 0)
                 /\ UNCHANGED <<mode, epoch, successes, opening, hold, back>>

IsFailure(outcome) == outcome \in IF Bug = "CountsCancelled" THEN Failed \cup {"cancelled"} ELSE Failed

\* Go: (*Circuit).End, of a failure while closed that is not enough.
EndFailure(c, outcome) == /\ mode = "closed"
                          /\ Acts(c)
                          /\ IsFailure(outcome)
                          /\ failures + 1 < Failures
                          /\ failures' = failures + 1
                          /\ Ends(c)
                          /\ Say("EndFailure", c, outcome, 0, 0)
                          /\ UNCHANGED <<mode, epoch, successes, opening, hold, back>>

\* Opening is possible while the half-open epoch after it is in bounds.
Opens(round) == /\ epoch + 2 <= Epochs
                /\ mode' = "open"
                /\ epoch' = epoch + 1
                /\ failures' = 0
                /\ successes' = 0
                /\ rounds' = round + 1
                /\ age' = 0
                /\ wait' \in IF Bug = "JitterFromZero" THEN 0..Doubled(round) ELSE Jittered(Doubled(round))
                /\ hold' = NoHold

Closes == /\ epoch + 1 <= Epochs
          /\ mode' = "closed"
          /\ epoch' = epoch + 1
          /\ failures' = 0
          /\ successes' = 0
          /\ rounds' = IF Bug = "NeverForgives" THEN rounds ELSE 0
          /\ age' = 0
          /\ wait' = 0
          /\ hold' = NoHold

\* Go: (*Circuit).End, of the failure that opens the circuit. The number is what the
\* jitter takes off the whole.
EndOpens(c, outcome) == /\ mode = "closed"
                        /\ Acts(c)
                        /\ IsFailure(outcome)
                        /\ failures + 1 >= Failures
                        /\ Opens(rounds)
                        /\ Ends(c)
                        /\ Say("EndOpens", c, outcome, Doubled(rounds) - wait', 0)
                        /\ UNCHANGED back

Late(c) == Bug = "CountsExpired" /\ Lapsed(c)

\* Go: (*Circuit).End, of a trial that succeeds and is not enough.
EndTrial(c) == /\ mode = "half-open"
               /\ Acts(c) \/ Late(c)
               /\ successes + 1 < Successes
               /\ successes' = successes + 1
               /\ Ends(c)
               /\ hold' = [Rebased EXCEPT ![c] = 0]
               /\ Say("EndTrial", c, "success", 0, 0)
               /\ UNCHANGED <<mode, epoch, failures, opening, back>>

\* Go: (*Circuit).End, of the trial that closes the circuit.
EndCloses(c) == /\ mode = "half-open"
                /\ Acts(c) \/ Late(c)
                /\ successes + 1 >= Successes \/ Bug = "OneIsEnough"
                /\ Closes
                /\ Ends(c)
                /\ Say("EndCloses", c, "success", 0, 0)
                /\ UNCHANGED back

\* Go: (*Circuit).End, of a trial that fails.
EndReopens(c, outcome) == /\ mode = "half-open"
                          /\ Acts(c) \/ Late(c)
                          /\ IsFailure(outcome)
                          /\ Opens(rounds)
                          /\ Ends(c)
                          /\ Say("EndReopens", c, outcome, Doubled(rounds) - wait', 0)
                          /\ UNCHANGED back

\* Go: (*Circuit).ForceOpen, the only step.
ForceOpen == /\ Opens(IF Bug = "ForceKeepsTheRounds" THEN rounds ELSE 0)
             /\ Say("ForceOpen", "", "", Doubled(rounds' - 1) - wait', 0)
             /\ UNCHANGED <<permit, trial, back>>

\* Go: (*Circuit).ForceClose, the only step.
ForceClose == /\ Closes
              /\ Say("ForceClose", "", "", 0, 0)
              /\ UNCHANGED <<permit, trial, back>>

Left == CHOOSE n \in 0..(2 * MaxHold) :
          /\ \E c \in Live : n = MaxHold - hold[c]
          /\ \A c \in Live : n <= MaxHold - hold[c]

\* Go: (*Circuit).NextChange, and with it Available.
Ask == /\ Say("Ask", "", "", 0, IF Available THEN 0 ELSE IF mode = "open" THEN wait - age ELSE Left)
       /\ IF Bug = "AskingActs" /\ mode = "open" /\ Available
          THEN mode' = "half-open" /\ UNCHANGED <<epoch, counts, opening>>
          ELSE UNCHANGED state
       /\ UNCHANGED <<permit, trial, hold, back>>

\* World: the clock goes on.
Tick == /\ \/ mode = "open" /\ age < wait
           \/ \E c \in Calls : IsTrial(c) /\ hold[c] < MaxHold
        /\ age' = IF mode = "open" THEN age + 1 ELSE age
        /\ hold' = [c \in Calls |-> IF IsTrial(c) THEN Min(hold[c] + 1, MaxHold) ELSE 0]
        /\ Say("Tick", "", "", 0, 0)
        /\ UNCHANGED <<mode, epoch, counts, rounds, wait, permit, trial, back>>

\* World: the clock steps back while a span runs.
StepBack(by) == /\ back > 0
                /\ \/ mode = "open" /\ age \in 0..(wait - 1)
                   \/ /\ \E c \in Calls : IsTrial(c)
                      /\ \A c \in Calls : IsTrial(c) => hold[c] \in 0..(MaxHold - 1)
                /\ back' = back - 1
                /\ age' = IF mode = "open" THEN age - by ELSE age
                /\ hold' = [c \in Calls |-> IF IsTrial(c) THEN hold[c] - by ELSE 0]
                /\ Say("StepBack", "", "", by, 0)
                /\ UNCHANGED <<mode, epoch, counts, rounds, wait, permit, trial>>

Next == \/ \E c \in Calls : \/ AcquireClosed(c)
                            \/ AcquireFirst(c)
                            \/ AcquireOpen(c)
                            \/ AcquireTrial(c)
                            \/ AcquireTaken(c)
                            \/ \E o \in {"success", "failure"} : EndAgain(c, o)
                            \/ \E o \in {"success", "failure"} : EndStale(c, o)
                            \/ EndCancelled(c)
                            \/ EndSuccess(c)
                            \/ \E o \in Outcomes : EndFailure(c, o)
                            \/ \E o \in Outcomes : EndOpens(c, o)
                            \/ EndTrial(c)
                            \/ EndCloses(c)
                            \/ \E o \in Outcomes : EndReopens(c, o)
        \/ ForceOpen
        \/ ForceClose
        \/ Ask
        \/ Tick
        \/ \E by \in StepSizes : StepBack(by)

\* Time passes, and somebody keeps asking an open circuit. Nobody has to end a
\* permit.
Spec == Init /\ [][Next]_vars /\ WF_vars(Tick) /\ WF_vars(\E c \in Calls : AcquireFirst(c))
-----------------------------------------------------------------------------
Acquired == last'.op \in {"AcquireClosed", "AcquireFirst", "AcquireTrial"}
Refused == last'.op \in {"AcquireOpen", "AcquireTaken"}
EndOps == {"EndAgain", "EndStale", "EndCancelled", "EndSuccess", "EndFailure", "EndOpens", "EndTrial", "EndCloses", "EndReopens"}
EndOf(c) == last'.op \in EndOps /\ last'.call = c
Counts(c) == EndOf(c) /\ permit[c] = epoch /\ ~Lapsed(c) /\ last'.outcome # "cancelled"
CountsFailure(c) == Counts(c) /\ last'.outcome \in Failed
CountsSuccess(c) == Counts(c) /\ last'.outcome = "success"
Opened == mode' = "open" /\ epoch' = epoch + 1

\* Claim: A half-open circuit never has more permits out than configured.
NeverOverLimit == Cardinality({c \in Calls : IsTrial(c)}) <= Trials

\* Claim: A permit of an earlier epoch changes nothing: neither its result nor its
\* end counts.
StaleChangesNothing ==
  [][\A c \in Calls : EndOf(c) /\ permit[c] >= 0 /\ permit[c] # epoch
       => UNCHANGED state /\ \A d \in Calls : d # c => permit'[d] = Reclaimed[d]]_vars

\* Claim: A cancelled call gives its permit back and says nothing about the
\* candidate.
CancelledSaysNothing ==
  [][\A c \in Calls : EndOf(c) /\ last'.outcome = "cancelled"
       => UNCHANGED state /\ permit'[c] = Ended]_vars

\* Claim: Copies of a permit share one end; every later End is reported and changes
\* nothing.
EndsOnce ==
  [][\A c \in Calls : EndOf(c)
       => IF permit[c] < 0 THEN UNCHANGED state /\ permit'[c] = permit[c] /\ last'.res = permit[c]
          ELSE permit'[c] \in {Ended, Expired}]_vars

\* Claim: A trial that is held for MaxHold counts as cancelled from the next Acquire
\* or End on; its own End is reported and changes nothing.
ExpiredChangesNothing ==
  [][\A c \in Calls : Lapsed(c) /\ (Acquired \/ Refused \/ last'.op \in EndOps)
       => \/ permit'[c] = Expired /\ (EndOf(c) => UNCHANGED state /\ last'.res = Expired)
          \/ Acquired /\ last'.call = c
          \/ epoch' # epoch /\ last'.call # c]_vars

\* Claim: The configured number of failures in a row opens a closed circuit; a
\* success in between starts the count again.
FailuresInARowOpen ==
  [][mode = "closed" => \A c \in Calls :
       /\ CountsFailure(c) => IF failures + 1 >= Failures THEN Opened ELSE failures' = failures + 1 /\ UNCHANGED mode
       /\ CountsSuccess(c) => failures' = 0 /\ UNCHANGED mode]_vars

\* Claim: The configured number of successful trials closes a half-open circuit;
\* one that fails opens it again.
TrialsDecide ==
  [][mode = "half-open" => \A c \in Calls :
       /\ CountsFailure(c) => Opened
       /\ CountsSuccess(c) => IF successes + 1 >= Successes THEN mode' = "closed" ELSE successes' = successes + 1 /\ UNCHANGED mode]_vars

\* Claim: Each time open is between half of the whole and the whole of it, which
\* doubles with each opening up to the longest; closing forgets that.
TimeOpenIsJittered == mode = "open" => 2 * wait >= Doubled(rounds - 1) /\ wait <= Doubled(rounds - 1)

RoundsCountOpenings ==
  [][/\ Opened => rounds' = (IF last'.op = "ForceOpen" THEN 1 ELSE rounds + 1)
     /\ mode' = "closed" => rounds' = 0]_vars

\* Claim: An open circuit refuses until its time is over, and says for how long.
\* Claim: The first Acquire after that makes the circuit half-open and gets a
\* permit.
TriesOnlyOnceOver ==
  [][mode = "open" /\ (Acquired \/ Refused)
       => IF Over(age, wait) THEN Acquired /\ mode' = "half-open" ELSE Refused /\ UNCHANGED mode /\ last'.res = wait - age']_vars

\* Claim: Available, NextChange and State change nothing.
AskingChangesNothing == [][last'.op = "Ask" => UNCHANGED <<state, permit, trial, hold>>]_vars

\* Claim: ForceOpen and ForceClose act at once in every mode and begin an epoch; a
\* time open begins afresh, at its first length.
ForcesActAtOnce ==
  [][/\ last'.op = "ForceOpen" => Opened /\ age' = 0 /\ wait' \in Jittered(OpenFor)
     /\ last'.op = "ForceClose" => mode' = "closed" /\ epoch' = epoch + 1]_vars

\* Claim: A clock that steps back costs at most one more time open, or one more
\* hold.
StepBackCostsOneSpan == last.op = "AcquireOpen" => last.res \in 1..wait

TriedInTheEnd == (mode = "open") ~> (mode # "open")
RoomInTheEnd == (mode = "half-open") ~> (Available \/ mode # "half-open")
-----------------------------------------------------------------------------
Witness_Reopened == ~(mode = "open" /\ rounds = 2)
Witness_LongestTime == wait < MaxOpenFor
Witness_ClosedByTrials == last.op # "EndCloses"
Witness_StaleTrial == ~(last.op = "EndStale" /\ mode = "half-open" /\ epoch > 3)
Witness_StaleCallInClosed == ~(last.op = "EndStale" /\ mode = "closed")
Witness_LostPermitReplaced == ~\E c, d \in Calls : permit[c] = Expired /\ IsTrial(d)
Witness_EndedTooLate == ~(last.op = "EndAgain" /\ last.res = Expired)
Witness_ClockBehind == ~(mode = "open" /\ age < 0 /\ ~Over(age, wait))
Witness_ClockFarBehind == ~(mode = "open" /\ age < 0 /\ Over(age, wait))
Witness_TrialBehind == ~\E c \in Live : hold[c] < 0
Witness_AllTaken == last.op # "AcquireTaken"
=============================================================================
