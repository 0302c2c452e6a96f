#!/usr/bin/env python3
"""Writes lexicon.tsv, the sentiment dictionary of sa.py: stems with a score from -4 to 4, inflected by the rules below.

The list is made for a workload, not for research: the scores are this project's own and say what a reader would roughly expect.
Run it again after a change here; the file is kept in the repository so that nothing has to be made before a replay.
"""

import os

ADJECTIVES = {
    4: "superb brilliant glorious magnificent marvellous splendid exquisite phenomenal",
    3: "great happy joyful delightful wonderful lovely beautiful charming graceful cheerful triumphant radiant generous "
    "thankful heavenly proud noble merry blissful dazzling",
    2: "good kind bright warm gentle brave honest loyal clever fresh sweet friendly helpful pleasant elegant lively playful "
    "tender faithful hopeful fruitful skilful useful healthy sunny lucky witty tidy cosy steady handy comfortable sincere "
    "adventurous attentive authentic beneficial considerate courteous decent dependable efficient energetic enthusiastic "
    "fearless flawless genuine gracious grateful hearty humble impressive ingenious inviting jolly lucid masterly natural "
    "optimistic persistent precious productive punctual reassuring refined respectful serene soothing spirited "
    "stylish tasteful tireless truthful upbeat valuable vigorous zestful vivid creative peaceful capable reliable sensible thoughtful welcome secure lasting polite rich robust",
    1: "calm clean clear safe smooth soft neat fair mild quick ready simple swift light firm modest patient careful fine "
    "sound crisp able apt keen fit quiet cool easy strong sharp smart wise",
    -1: "slow dull plain cold late loose odd rough stiff vague tired thin dim faint damp bland shy tense messy costly "
    "abrupt aimless awkward bumpy cautious cluttered confusing cramped cumbersome distant dreary drowsy evasive "
    "fickle flimsy forgetful formal fragile fussy grey hollow indifferent jumpy lengthy mediocre monotonous nervous "
    "obscure pale passive quaint restless rigid shaky sluggish sparse tedious timid uneasy uneven wobbly doubtful heavy noisy dusty blunt stale idle unclear narrow hasty",
    -2: "bad sad poor weak rude lazy ugly dirty sour bitter gloomy clumsy careless lonely fearful harsh greedy selfish jealous "
    "shabby sloppy stubborn foolish boring broken useless hopeless sick guilty grim angry bleak sore crude faulty lame "
    "abrasive aggressive arrogant ashamed bossy callous chaotic childish cowardly dangerous defective dishonest "
    "dismal disloyal envious erratic feeble frantic frustrating gaudy gullible helpless ignorant impatient impolite "
    "inferior insecure insincere intolerant joyless merciless negligent obnoxious pessimistic pointless reckless "
    "resentful rusty scruffy senseless spiteful tactless thankless tiresome unfair unkind unpleasant unreliable vain "
    "worthless moody murky rotten shady shallow sly sullen weary",
    -3: "nasty cruel awful painful dreadful miserable hateful shameful harmful deceitful disgraceful filthy hostile ruthless "
    "savage toxic violent brutal corrupt desperate furious wretched wicked",
    -4: "horrible horrid terrible atrocious vile monstrous catastrophic disastrous evil abysmal",
}

VERBS = {
    3: "adore cherish love triumph treasure delight rejoice",
    2: "admire praise enjoy thank help inspire comfort charm please welcome bless honour applaud cheer reward thrive heal "
    "achieve amaze astonish brighten captivate commend congratulate console dazzle embellish empower enchant enrich "
    "entertain enliven excite fascinate forgive gladden gratify hearten impress nurture perfect prosper revive "
    "satisfy soothe strengthen surpass thrill uplift succeed celebrate amuse encourage flourish respect rescue embrace laugh smile shine",
    1: "like agree assist calm ease improve learn mend offer protect share support trust accept allow benefit gain guide "
    "settle relax refresh repair restore promote prefer",
    -1: "avoid delay doubt ignore limp miss mumble refuse stumble worry complain fidget grumble hesitate interrupt nag "
    "overlook postpone sigh tire wander yawn",
    -2: "annoy blame bother cheat crash deny disturb fail frown harm insult lose mock offend quarrel regret reject scare "
    "scold shout spoil struggle suffer threaten waste whine wound accuse confuse damage degrade disappoint dislike "
    "abandon aggravate alarm antagonise burden collapse condemn contradict corrode curse deceive decay deteriorate "
    "discourage disgust dismay distort distress exclude exploit falter frustrate hinder infect intimidate lament leak "
    "malfunction misjudge misuse obstruct oppress pester plague pollute provoke resent sabotage stagnate "
    "swindle tarnish tease trick undermine violate wither worsen irritate mislead neglect punish snarl sneer sulk upset weep",
    -3: "betray hate ruin wreck despise torment attack destroy humiliate loathe poison terrify abuse devastate crush",
    -4: "torture murder slaughter annihilate",
}

NOUNS = {
    3: "joy bliss triumph delight paradise masterpiece miracle treasure",
    2: "friend gift hero hope honour success victory winner beauty charm courage glory pleasure comfort kindness smile wonder "
    "blessing champion laughter luck praise peace welcome",
    1: "advantage aid bonus ease favour gain interest merit order plan profit progress remedy rest skill talent chance "
    "solution support trust value harmony balance benefit",
    -1: "bill burden chore debt delay doubt error fault flaw gap glitch hurdle mistake noise puddle queue stain worry lapse "
    "obstacle bug weakness",
    -2: "anger argument blame conflict crime defeat danger fear failure fraud grief harm insult loss mess misery pain "
    "penalty problem quarrel regret shame sorrow threat trouble victim waste wound injury enemy liar thief illness "
    "nuisance rubbish",
    -3: "agony disgrace horror nightmare poison rage ruin terror tyrant villain abuse betrayal hatred menace",
    -4: "catastrophe disaster massacre atrocity murder torture",
}

VOWELS = "aeiou"
#: Words of one beat that end in one vowel and one consonant double it: sad, sadder.
DOUBLED = set("sad bad dim thin fit grim nag limp".split()) - {"limp", "bad"}
#: Longer adjectives are compared with "more", not with an ending; these short ones are irregular.
COMPARED_MAX = 6
UNCOMPARED = set(
    "good bad able ready ill unclear evil broken faulty costly lasting toxic modest secure decent formal uneasy uneven unfair "
    "unkind lucid abrupt serene upbeat weary tired broken sick".split()
)
UNCOMPARED_ENDINGS = ("ful", "ed", "ous", "ive", "ant", "ent")
IRREGULAR_PAST = {"lose": "lost", "upset": "upset", "weep": "wept", "mislead": "misled", "shine": "shone"}
ODD_ADVERBS = {"good": "well", "friendly": None, "lively": None, "lovely": None, "costly": None, "heavenly": None, "lonely": None,
               "ugly": None, "sly": "slyly", "shy": "shyly", "dull": "dully", "late": None, "able": "ably", "broken": None, "sick": None}
STRONGER = 0.5


def joined(stem, ending):
    """Stem and ending by the usual spelling: happy + ness = happiness, tidy + er = tidier, love + ing = loving."""
    if stem.endswith("y") and stem[-2] not in VOWELS and ending != "ing" and len(stem) > 3:
        return stem[:-1] + ("ies" if ending == "s" else "i" + ending)
    if ending == "s":
        return stem + ("es" if stem.endswith(("s", "x", "ch", "sh", "ss")) else "s")
    if ending == "ly" and stem.endswith("le"):
        return stem[:-1] + "y"
    if ending == "ly" and stem.endswith("ic"):
        return stem + "ally"
    if ending in ("ed", "er", "est", "ing"):
        if stem.endswith("e") and not (ending == "ing" and stem.endswith("ee")):
            return stem[:-1] + ending
        if stem in DOUBLED:
            return stem + stem[-1] + ending
    return stem + ending


def adjectives():
    for score, words in ADJECTIVES.items():
        further = STRONGER if score > 0 else -STRONGER
        for word in words.split():
            yield word, score
            adverb = ODD_ADVERBS.get(word, joined(word, "ly"))
            if adverb is not None:
                yield adverb, score
            yield joined(word, "ness"), score
            if len(word) <= COMPARED_MAX and word not in UNCOMPARED and not word.endswith(UNCOMPARED_ENDINGS):
                yield joined(word, "er"), score
                yield joined(word, "est"), score + further


def verbs():
    for score, words in VERBS.items():
        for word in words.split():
            yield word, score
            yield joined(word, "s"), score
            yield IRREGULAR_PAST.get(word, joined(word, "ed")), score
            yield ("upsetting" if word == "upset" else joined(word, "ing")), score


def nouns():
    for score, words in NOUNS.items():
        for word in words.split():
            yield word, score
            yield joined(word, "s"), score


def main():
    scores = {}
    for word, score in (*adjectives(), *verbs(), *nouns()):
        scores.setdefault(word, max(-4.0, min(4.0, float(score))))
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lexicon.tsv")
    with open(target, "w", encoding="utf-8") as file:
        file.write("# word, score from -4 to 4; written by make_lexicon.py\n")
        for word in sorted(scores):
            file.write(f"{word}\t{scores[word]:g}\n")
    print(len(scores))


if __name__ == "__main__":
    main()
