"""Patterns for the phrases with which English speakers settle something. The groups `rest`, `kept`
and `what` contain what is settled, in the speaker's words."""

import re


def _pattern(*parts: str, case: bool = False) -> re.Pattern[str]:
    return re.compile("".join(parts), re.NOFLAG if case else re.IGNORECASE)


_WE = r"(?:we|i|you and i|both of us|all of us)"
_AT_FIRST = (
    r"(?:(?:for|on|in|at|from|after|before|until|during) [^,]{2,25},? (?=(?:we|i|let's)\b))?"
)
"""Matches words that may precede the subject: "for lunch"."""
_NO_PLAN = (
    r"(?:see\b|think\b|talk\b|tell you|look\b|ask (?:him|her|them|around|about|if|whether|my"
    r"|you)\b|check\b|find out|let you|call you|get back\b"
    r"|wait\b"
    r"|decide\b|discuss|start (?:with|by|over)|begin (?:with|by)|be (?:right|back|honest|there in)"
    r"|sleep on|try to|leave (?:it|that) (?:at|there|to|open|for)|have to (?:think|see|check|ask)"
    r"|need to (?:think|check)|come back (?:to|later)|go (?:back|over|through|ahead)\b|go(?: then"
    r"| now)?$"
    r"|go on(?: with\b|$| then)|move on|continue|hear\b|get (?:started|going|on with|to\b)|hope\b"
    r"|plan\b"
    r"|face it|keep going|focus|work on|recap|summari[sz]e|stop\b|pause|call it a day|deal with"
    r"|sort (?:that|it|this) out|figure|say (?:that|it)\b|take (?:a (?:break|look|step)|it\b|stock)"
    r"|do (?:this|that|it)\b|have a (?:look|think)|not (?:decide|worry|talk|forget)|remember"
    r"|know\b)"
)
"""Matches actions that belong to the conversation, not to the task."""

LET = _pattern(
    _AT_FIRST,
    r"(?:let's|lets|let us|we should(?: definitely)?|we must|might as well)\s+",
    rf"(?!{_NO_PLAN})(?P<rest>.+)",
)
WILL = _pattern(
    _AT_FIRST,
    _WE,
    r"(?:'ll| will| shall|(?:'re| are|'m| am) (?:definitely |only |all |both |just )?"
    r"(?:going to|gonna|planning to|aiming to))(?: just| only| definitely| probably)*",
    rf" (?P<rest>(?!{_NO_PLAN}).+)",
)
DONE = _pattern(
    _WE,
    r"(?:'ve| have)?(?: just| already| now| all| both| finally)* "
    r"(?:(?:decided|agreed|settled|opted)(?: (?:on|to|for|that))? (?P<rest>.+)"
    r"|(?P<kept>(?:booked|reserved|bought|ordered|invited|picked|chosen|chose|hired|rented|paid for"
    r"|sent out|set aside) .+))",
)
GOING = _pattern(
    _AT_FIRST,
    _WE,
    r"(?:'re|'m| are| am) (?P<rest>(?:not |only |all |both |just )?"
    r"(?!going\b(?! (?:by|on|with|for|in|from|there|away|via)\b)|thinking|wondering|considering"
    r"|looking"
    r"|trying|hoping|having trouble|being|getting (?:tired|hungry|late|cold)|kidding|joking|asking"
    r"|saying|talking|sitting|standing|waiting|feeling|running|worrying|dying|starving|wanting"
    r"|melting"
    r"|planning (?:a|the|my|our)\b|doing (?:well|fine|great|okay)|struggling|freezing)\w+ing\b.*)",
)
WANT = _pattern(
    _AT_FIRST,
    _WE,
    r"(?:'d| would| do| really| just| only| also| still| definitely| both| all)* (?P<rest>"
    r"(?:(?:don't|do not|won't|can't|cannot)(?: really)? (?:want|need|take|do|have|fly|drive|eat"
    r"|drink"
    r"|stay|go|like|spend|bring|invite|use|leave|start)|rather|prefer|want|need|have to|must|like"
    r"|love"
    r"|go (?:for|with)|choose|vote for)\b(?! (?:to (?:think|know|ask|go$|check|see|talk|say|sleep"
    r"|hear (?:your|about|what|more|from)|decide|plan|go (?:to (?:bed|sleep)|now))"
    r"|a (?:coffee|break|minute|moment|second|drink|nap|hand)|some (?:time|help|advice|ideas)"
    r"|ideas|help"
    r"|your|any ideas|that$|it$|this$|to (?:sort|start|get going))\b).+)",
)
PLAIN = _pattern(
    _AT_FIRST,
    _WE,
    r"(?: all| both| just| only| then| always)* (?P<rest>(?:start|begin|meet|leave|arrive|fly"
    r"|drive|go|take"
    r"|stay|get|move|rent|buy|sell|bring|cook|bake|eat|pay|split|use|invite|make|serve|book|keep"
    r"|finish"
    r"|pick|travel|sleep|walk|paint|build|hire|borrow|order|set off|check in|share|cycle|camp)\b"
    r"(?! (?:it$|that$|confused|lost|tired|home late|the idea|what you|to know|to bed)).+)",
)
"""Plans in the present tense: "we start at seven"."""
OUGHT = _pattern(
    _WE, r" (?:should|ought to|had better|must)(?: also| really)? (?P<rest>(?!", _NO_PLAN, r").+)"
)
"""Something that the user thinks should be done: "I should bring copies"."""
FRONTED = _pattern(
    r"(?P<rest>(?:the|our|my|all the) [\w' -]{2,30}? (?:we|i) (?:get|take|sell|buy|bring|keep"
    r"|book|rent"
    r"|move|leave|pick up|make|order|need|want|do|paint|use|store)\b.*)",
)
"""Clauses that begin with the object: "the fridge I sell"."""
HAVE = _pattern(
    r"(?P<rest>",
    _WE,
    r"(?:'ve got| have(?: got)?|'ve only got|'re| are|'ll be| can (?:spend|only))"
    r" (?:about |around |only |up to |at most |just |exactly |a budget of )*"
    r"(?:\S*\d|an? (?:budget|hundred|thousand|week|fortnight|dozen|couple)|\w+ (?:hundred|thousand)"
    r"|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty)\b).*)",
)
IS = _pattern(
    r"(?P<what>(?:(?:the|our|my|this|a|an|all|everyone|everybody|it|there|people|guests)\b"
    r"[\w' -]{0,40}?|(?!(?:i|we|you|he|she|they|let|that|what|who|here|how)\b)[a-z]+))(?:'s"
    r"|'ll be|'ll have to be| is| are"
    r"| will be| will have to be| will| has to"
    r"| have to| needs? to| must| should|'s got to| can't| starts?| leaves?| begins?| ends?| costs?"
    r"| stays?| goes?| comes?)(?P<rest>\b.+)",
)
COMPLAINS = _pattern(r" (?:too|so|very|really|no|not (?:that|very|so)|quite|a bit|just)\b")
_KIN = (
    r"(?:mum|mom|mother|dad|father|brother|sister|wife|husband|partner|boyfriend|girlfriend"
    r"|friends?"
    r"|neighbou?rs?|colleagues?|boss|cousins?|aunt|uncle|son|daughter|parents|gran\w*|kids|children"
    r"|flatmate|roommate|in-laws|mates?|landlady|landlord|team|mate \w+|friend \w+|sister \w+)"
)
_NAME = (
    r"(?!(?:We|It|Let|That|This|There|The|What|Here|Then|And|So|But|If)\b)[A-Z][a-z]+"
    r"(?= (?:is|are|was|has|wants|will|likes|can|can't|won't|isn't|said|doing|and [A-Z]\w+"
    r" (?:are|have|will|can))\b|'s \w+ing\b|'ll\b)"
)
PERSON = _pattern(
    rf"(?:(?i:he|she|they|somebody|someone|people|(?:my|our|his|her|their) {_KIN}|our \w+(?= wants)"
    rf"|his \w+|her \w+|their \w+)|{_NAME})(?:'s)?\b",
    case=True,
)
"""Matches the subject of a clause if it is another person, or something that belongs to one."""
PERSON_ONLY = _pattern(rf"(?:my|our|his|her) {_KIN}$")
ABSENT = _pattern(
    r"(?:\w+|(?:my|our) \w+)(?:'s| is| are)?(?: not coming| can't (?:come|make it)| won't (?:come"
    r"|make it)"
    r"|n't coming| dropped out| cancelled)\b",
)
OUT = _pattern(
    r"(?:definitely |absolutely |certainly |and |but |just )*(?:no|not|without|nothing|none of"
    r"|never"
    r"|anything but|leave out|avoid)\s+(?!idea|sure|thanks?|thank|yet|really|problem|worries"
    r"|way\b|now|bad"
    r"|wonder|need to|that i|quite|so |much$|matter|doubt|more (?:questions|ideas)|i |we |at all"
    r"|too bad"
    r"|hurry|rush|one knows|longer sure|more$|necessarily|only|even)(?P<what>.+)",
)
DROP = _pattern(
    r"(?:(?:let's |we can |we'll )?(?:forget|drop|skip|scrap|scratch|ditch|cancel|cross off"
    r"|take out"
    r"|remove|never ?mind|strike|lose)(?: about)?) (?P<what>(?:the|that|my|our|those)\b.+?)"
    r"(?: (?:idea|thing|plan|bit))?$",
)
SUITS = _pattern(
    r"(?P<what>(?!.{,60}?\b(?:where|as|what|how|way) it is)(?!that\b|this\b|it\b|which\b|what\b"
    r"|he\b|she\b|they\b|i\b|we\b).{2,60}?)"
    r"(?: (?:it is|sounds? (?:good|great|perfect|right|lovely|fine|best|nice)"
    r"|works?(?: (?:for (?:me|us|everyone)|best|well|better))?|suits (?:me|us)(?: better| best)?"
    r"|is (?:fine|good|perfect|great|best|okay|better)(?: (?:for|with|by) (?:me|us))?"
    r"|would be (?:best|perfect|better|great|good|ideal)|will do|then|please))+(?: then)?$",
)
MAKE = _pattern(
    r"(?:make (?:it(?! (?:my|your|our)sel)|that|(?=the\b|our\b))|call it|change (?:it|that|the \w+"
    r"(?: \w+)?) to|move (?:it|that|the \w+) to|say|go (?:with|for)|put (?:it|that) (?:on|at)"
    r"|stick (?:with|to)|keep (?=the|it)|better(?: make it)?|rather|add(?= (?:the|a|an|some|my)\b)"
    r"|put down(?= )|note(?: down)?(?= )|we're talking)\s*(?P<rest>.+)",
)
TENTATIVE = _pattern(
    r"(?:just )?(?:say|go (?:with|for)|make (?:it(?! (?:my|your|our)sel)|that)|stick (?:with|to)"
    r"|settle (?:on|for)|do (?=the\b|an?\b|it on\b|\d|\w+day\b)|call it|plan (?:on|for)|aim for"
    r"|keep it (?:to|at)|put (?:it|that) (?:on|at)|move it to|change (?:it|that) to"
    r"|have (?=it on\b))\s*",
)
"""Matches verbs that add nothing to what is settled."""
FAVOURS = _pattern(r"(?:go (?:for|with)|rather|choose|vote for)\s+")
CORRECTS = _pattern(
    r"\b(?:actually|instead|rather|wait|sorry|scratch that|scrap that|strike that|i meant?"
    r"|make (?:it|that)"
    r"|change|changed|move it|move the|no longer|any ?more|after all|on second thoughts?"
    r"|change of plans?|come to think of it|not .+ but|better|hang on|hold on|more like)\b|^no\b"
    r"|\S not \w+",
)
TRAILING = _pattern(
    r"[\s,]+(?:please|okay|ok|right|i think|i guess|then|instead|if that's (?:okay|all right"
    r"|fine)|i'd say"
    r"|actually|for sure|definitely|thanks|thank you|after all|so|and|but|because|or so|i reckon)$",
)
CUTS = _pattern(
    r"\s+(?=(?:because|since|so that|as (?:it|we|i|the)|which|where|when|before|although|while"
    r"|in case"
    r"|otherwise|given)\b)",
)
BEGINS_STATE = _pattern(r"(?:be|all|both|definitely|only)\b")
POINTS = _pattern(
    r"(?:(?:do|take|have|like|want|go (?:with|for)|prefer|choose|use|be|that|this|it|them|these"
    r"|those|the"
    r"|one|there|first|second|third|last|other|latter|former|sounds?|good|great|fine|so|both|all"
    r"|everything|too|much|many|very|really|for|me|us|to|a|an|of|myself|whatever|anything|nothing"
    r"|something|nice|bad|exactly|cool|done|settled|perfect|idea|he|she|has|have)\b\W*)+",
)
"""Matches a text that names nothing by itself."""
SELF = _pattern(
    r"(?:he|she|they|you|it|this|that|i|i'm|i've|we|we're|there|i'd|we'd|it's|that's|don't|do not"
    r"|ask"
    r"|tell|see|look|still|guess|thank|excuse|mind)\b",
)
TOPIC = _pattern(
    r"(?:the |our |my )?(?:food|drinks?|music|budget|time|dates?|place|venue|boxes|guests?"
    r"|decorations?"
    r"|money|next|anyway|transport|what else|the rest|now)$",
)
"""Matches words that only name the next topic of the conversation."""
FINITE = _pattern(
    r"\b(?:is|are|was|were|will|has|have|can|can't|won't|don't|doesn't|didn't|wants|needs|likes"
    r"|loves"
    r"|hates|does|gets|comes|goes|stays|want|need|prefer)\b|\w'(?:s \w+ing|ll|re|ve)\b"
)
PRONOUN = _pattern(r"\b(?:it|them|those|these|there)\b")
WHO = _pattern(r"\b(?:who|whom|whose|anyone|anybody|everyone|people|guests?)\b")
LET_ANYTHING = _pattern(r"(?:let's|lets|let us|let me)\b")
RATHER_NOT = _pattern(r"not (?P<what>.+)")
ONLY_POINTS = _pattern(r"\w+ (?:it|them|that|those)(?: \w+)?$")
"""Matches a verb whose object is only a pronoun: "make it myself"."""
OPPOSES = _pattern(r"^no\W*$|^(?:oh |well |nah )*no(?: then)?$")
"""Matches a "no" that answers the assistant."""
INSTEAD = _pattern(r"\binstead$")
UNSURE = _pattern(r"\b(?:know|sure|maybe|perhaps)\b")
