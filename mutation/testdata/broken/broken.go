package broken

func Broken() int { return "no number" }
