package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// The rules of the policies, as Query.Why tells them.
const (
	// RuleOnly: only one candidate was left to choose.
	RuleOnly poise.Rule = "only one left"
	// RuleTurn: it was the candidate's turn.
	RuleTurn poise.Rule = "its turn"
	// RuleDraw: the candidate was drawn at random.
	RuleDraw poise.Rule = "drawn at random"
	// RuleFallback: the query had no key, and the policy for that case chose.
	RuleFallback poise.Rule = "fallback without key"

	// RuleLeastLoad: no other eligible candidate had a smaller load.
	RuleLeastLoad poise.Rule = "least load"
	// RuleLessOfTwo: of two drawn at random it had the smaller load.
	RuleLessOfTwo poise.Rule = "less loaded of two"
	// RuleTieOfTwo: of two drawn at random, equal in load, it was drawn first.
	RuleTieOfTwo poise.Rule = "tie of two"
	// RuleLessOfTwoByWeight: of two drawn by weight it had the smaller load in
	// relation to its weight.
	RuleLessOfTwoByWeight poise.Rule = "less loaded of two by weight"
	// RuleTieOfTwoByWeight: of two drawn by weight, equal in load in relation to
	// their weights, it was drawn first.
	RuleTieOfTwoByWeight poise.Rule = "tie of two by weight"

	// RuleHighestHash: its hash with the key was the highest.
	RuleHighestHash poise.Rule = "highest hash"
	// RuleWeightedHash: its hash with the key was the best for its weight.
	RuleWeightedHash poise.Rule = "best hash for its weight"
	// RuleOwner: the key belongs to it, and it had room.
	RuleOwner poise.Rule = "owner of the key"
	// RuleSpilled: the owner of the key had no room, and of those with room it was
	// the best.
	RuleSpilled poise.Rule = "spilled from the owner"
	// RuleRing: the next point on the ring was its own.
	RuleRing poise.Rule = "next on the ring"
	// RuleTable: the slot of the key in the table was its own.
	RuleTable poise.Rule = "slot in the table"
	// RuleWalked: the key's place on the ring or in the table led to tried
	// candidates first.
	RuleWalked poise.Rule = "next untried from the key's place"
)

// The names of the notes of the policies.
const (
	// NoteTable: the number of the ring or table that decided, counted by its policy
	// from 1.
	NoteTable = "table of the policy"
	// NoteCapacity: the load under which the bounded-load rule allowed the chosen
	// candidate. A bound of 2^64 or more stands as 2^64-1.
	NoteCapacity = "load bound"
	// NoteOwner: the candidate that the key belongs to, and that had no room.
	NoteOwner = "owner of the key"
)

// MeasurePlace means places on the ring, or slots of the table.
const MeasurePlace poise.Measure = "place"

// measureOf returns what is compared where a rule decides.
func measureOf(rule poise.Rule) poise.Measure {
	switch rule {
	case RuleHighestHash, RuleWeightedHash:
		return poise.MeasureHash
	case RuleRing, RuleTable, RuleWalked:
		return MeasurePlace
	case RuleLessOfTwoByWeight, RuleTieOfTwoByWeight:
		return poise.MeasureLoadByWeight
	case RuleLeastLoad, RuleLessOfTwo, RuleTieOfTwo, RuleOwner, RuleSpilled:
		return poise.MeasureLoad
	}
	return ""
}
