"""Words that come and go around a brand's name, and words that are spelt in several ways."""

from cs.domain.names.phrases import word_set

#: What stands for "and" between two words of a name.
CONNECTORS = word_set("& and und et y e i n en og och ja")

#: Words for the firm as a whole: they are left out of a name as often as they are added.
FIRM_WORDS = word_set(
    "group gruppe gruppen grupp grup konzern konsern concern koncern holding holdings "
    "groupe grupo gruppo international intl worldwide global"
) | {"retail group", "& resorts"}

#: Words for its shops and pages: people add them, yet "Body" is not "The Body Shop".
SHOP_WORDS = word_set(
    "store stores shop shops online official company companies corp co brand brands hq "
    "supermarket supermarkets supermercado supermercados supermarche supermarches retail "
    "website com sl slu sau srlu spzoo"
) | {
    "z oo",
    "convenience store",
    "convenience stores",
    "super market",
    "super markets",
    "department store",
    "department stores",
    "online shop",
    "online store",
}

#: Words for the firm that stand in front: "Groupe Renault".
LEADING_FIRM_WORDS = word_set("groupe grupo gruppo group")

#: Countries and groups of them, as people put them behind a brand's name.
PLACES = word_set(
    "uk us usa uae eu emea apac latam dach mena anz gb ksa "
    "america americas europe asia africa australia austria belgium brazil brasil bulgaria "
    "canada chile china colombia croatia cyprus czechia denmark danmark deutschland egypt "
    "espana estonia finland france germany greece hungary iceland india indonesia ireland "
    "israel italia italy japan kenya korea kuwait latvia lithuania luxembourg malaysia malta "
    "mexico morocco nederland netherlands nigeria norge norway oesterreich osterreich pakistan "
    "peru philippines poland polska portugal qatar romania russia schweiz serbia singapore "
    "slovakia slovenia spain suisse suomi sverige sweden switzerland taiwan thailand turkey "
    "turkiye ukraine vietnam london paris milano berlin tokyo"
)

#: Words written in several ways, as one of them.
OTHER_SPELLINGS = {
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "bros": "brothers",
    "saint": "st",
    "sainte": "st",
    "mount": "mt",
    "doctor": "dr",
    "centre": "center",
    "theatre": "theater",
    "colour": "color",
    "colours": "colors",
    "jewellers": "jewelers",
    "jewellery": "jewelry",
    "tyre": "tire",
    "tyres": "tires",
    "armor": "armour",
    "doughnut": "donut",
    "doughnuts": "donuts",
    "ltd": "limited",
    "intl": "international",
}

#: Letters that people without the key write as two.
TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
