import { eachTerm } from './tokens.ts';

/** Terms that mean nearly the same as this one. */
export function synonymsOf(term: string): readonly string[] {
  return synonyms.of(term);
}

/** Groups that share a word prefix; their words become terms on the first look-up of one. */
interface Groups {
  readonly texts: Set<string>;
  isRead: boolean;
}

const NONE: readonly string[] = [];

class Synonyms {
  /** Built on the first look-up: most processes need none. */
  #beginnings: ReadonlyMap<string, Groups> | null = null;
  readonly #known = new Map<string, readonly string[]>();

  of(term: string): readonly string[] {
    this.#beginnings ??= groupsByBeginning();
    const groups = this.#beginnings.get(beginningOf(term));
    if (groups === undefined) return NONE;
    if (!groups.isRead) this.#read(groups);
    return this.#known.get(term) ?? NONE;
  }

  #read(groups: Groups): void {
    groups.isRead = true;
    const found = new Map<string, Set<string>>();
    for (const group of groups.texts) {
      const members: string[] = [];
      eachTerm(group, (term) => members.push(term));
      for (const member of members) {
        const others = found.get(member) ?? new Set();
        for (const other of members) if (other !== member) others.add(other);
        found.set(member, others);
      }
    }
    for (const [term, others] of found) if (this.#beginnings?.get(beginningOf(term)) === groups) this.#known.set(term, [...others]);
  }
}

/** The prefix for the look-up of a term: two letters of a short one (`bui` of `buy`), else three. */
function beginningOf(term: string): string {
  return term.slice(0, term.length > 3 ? 3 : 2);
}

/** The prefixes that a word's terms may have: a term may be shorter (`set` of `settings`). A test checks the groups against it. */
function beginningsOf(word: string): readonly string[] {
  return [word.slice(0, 2), word.slice(0, 3)];
}

function groupsByBeginning(): ReadonlyMap<string, Groups> {
  const found = new Map<string, Groups>();
  for (const group of GROUPS.trim().split(/[\n;]/)) {
    for (const word of group.trim().split(' ')) {
      for (const beginning of beginningsOf(word)) {
        const groups = found.get(beginning);
        if (groups === undefined) found.set(beginning, { texts: new Set([group]), isRead: false });
        else groups.texts.add(group);
      }
    }
  }
  return found;
}

/** The words of a group mean nearly the same: everyday words beside authors' words, abbreviations beside their meaning. */
const GROUPS = `
ts typescript; js javascript; py python; k8s kubernetes; db database; repo repository; docs documentation; doc document; config configuration settings
env environment; auth authentication; authz authorization permission; i18n internationalization; l10n localization; a11y accessibility accessible
postgres postgresql; mongo mongodb; md markdown; yml yaml; img image; app application; admin administrator; prod production; perf performance
spec specification; ci pipeline; ml learning; llm llms gpt; rag retrieval; nlp text; ui interface frontend; vm virtual; cv resume curriculum
ppt pptx powerpoint slides presentation deck keynote; xls xlsx excel spreadsheet workbook; docx word; gcp google; aws amazon; azure microsoft
iac terraform infrastructure; infra infrastructure; gql graphql; ws websocket; lib library package; pkg package; deps dependency; msg message
stats statistics statistical; info information; qa testing; hr hiring recruiting; crypto cryptocurrency bitcoin; oauth sso login
picture image photo photograph; movie film cinema; video clip footage; song music track tune; car vehicle automobile auto; bike bicycle cycling
doctor physician; hospital clinic; medicine drug medication pharmaceutical; illness disease sickness; shop store ecommerce retail; buy purchase order shopping
price cost pricing; cheap affordable discount inexpensive; expensive costly; money finance financial; bill invoice billing; bank banking
stock share equity; invest investment investing; salary wage pay compensation; loan credit mortgage; tax accounting bookkeeping
holiday vacation trip travel; journey trip travel; hotel accommodation lodging stay; flight airline plane airport; restaurant dining; food meal nutrition
recipe cooking cook; diet nutrition; weather forecast; rain precipitation weather; workout exercise fitness gym; sport sports; game gaming play
job career employment vacancy; mail email; phone telephone call mobile; chat messaging conversation; letter correspondence; news headline article
house home property; flat apartment rent; kid child; pet animal; plant garden gardening; gift present; joke humor funny; book novel reading
poem poetry; quote quotation saying; word vocabulary; dictionary definition; language translate translation; horoscope astrology zodiac
color palette; font typography typeface; drawing illustration sketch; paint painting; slide presentation; chart graph plot visualization
diagram flowchart schema; website webpage site web; link url; browser web; scrape crawl extract; download fetch save; upload file
swagger openapi; endpoint api rest; bug defect error issue; fix repair debug; crash failure; slow latency performance; fast quick performance speed
test testing verify; check verify validate; review audit inspect; security secure vulnerability; hack exploit penetration; attacker threat
password credential secret; login signin authentication; signup registration onboarding; encrypt encryption cryptography; container docker
deploy deployment release ship; publish post release; server backend; cloud hosting; monitor monitoring observability; log logging trace
alert alarm notification; outage incident downtime; emergency incident; handover handoff; cache caching; queue messaging broker; job task
clean cleanup tidy; refactor restructure rewrite; legacy old outdated; modernise migrate upgrade; move migrate transfer; convert transform conversion
summary summarize digest; shorten condense; write draft compose writing; polish edit proofread; grammar spelling; blog article post; story narrative
customer client user; sell sale selling; sales revenue; advertise advert advertising ads campaign; marketing promotion; rival competitor competition competitive
startup founder venture; company business firm; team staff colleague; boss manager leadership executive; meeting call standup; agenda meeting; minutes notes
todo task; plan planning roadmap; schedule calendar appointment; remind reminder; deadline due; contract agreement; law legal lawyer; privacy gdpr
payment pay checkout; refund reimbursement; subscription recurring; donate donation charity; delivery shipping parcel
gene genetic dna genome; protein structure; molecule compound chemical; cell cellular; patient clinical; study research; paper publication
reference citation bibliography; thesis dissertation; experiment trial; hypothesis theory; survey questionnaire form; dataset data; train training finetune
bot chatbot; assistant helper; voice speech spoken; sound audio; podcast audio; subtitle caption transcript; robot automation; automate automation workflow
folder directory; table spreadsheet; gif animation animated; animate animation motion; icon emoji logo; style theme design; art artistic; button component widget
search find lookup; similar similarity related; recommend recommendation suggest; map location geographic; address location; teach tutorial lesson learn
school education course university; exam quiz test; homework assignment; explain explanation understand; idea brainstorm ideation; compare comparison versus
calculate calculator computation; guess predict prediction; predict forecast; trend analytics; report dashboard; average mean statistics; number numeric
duplicate copy; delete remove; rename name; merge combine join; split divide separate; resize scale; compress zip shrink; backup restore; undo revert rollback
branch git; commit git; tutorial guide; manual documentation; rule policy; permission access; role access; comment feedback; rating review
event conference; ticket issue; bookmark favorite; screenshot capture screen; scan ocr; pdf document; signature sign; fill form
mobile android ios; iphone ios swift; laptop computer; desktop computer; chip embedded; firmware embedded; sensor iot; battery power; electricity energy
satellite space; star astronomy; earthquake seismic; climate environment; traffic road; parking car; train railway; bus transit; map navigation route
teammate colleague; friend social; dating relationship; wedding event; baby child; health medical; mental therapy wellbeing; sleep rest; stress anxiety
`;

const synonyms = new Synonyms();
