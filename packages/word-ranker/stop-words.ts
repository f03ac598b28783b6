/**
 * Words of grammar and of asking, which never say what a text is about; folded, as they are compared. Words of other languages are left out
 * where they also mean something in English or among programmers: *car*, *war*, *bin*, *ai*, *ci*, *os*, *pod*.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    // English
    `a about above after again all also am an and any are as at be because been before being below between both but by
  can cannot could did do does doing done down during each either else etc ever every few for from further get gets getting give
  given gives go going gonna got had has have having he hello help her here hers hey hi him his how however i if in into is it its itself
  just kindly let lets like lot many may maybe me might mine more most much must my myself need needs neither no nor not now of off
  ok okay on once one only or other our ours out over own per please really same see shall she should since so some
  something somehow still such than thank thanks that the their theirs them then there these they thing things this those through
  to too under until up upon us use used user uses using very via want wanted wants was way we well were what whatever when where whether which while
  who whom whose why will with within without would yes yet you your yours yourself
  s t d m ain aren couldn didn doesn don hadn hasn haven isn ll mustn re shouldn ve wasn weren won wouldn`,
    // German
    `aber alle alles als am an auch auf aus bei bis bitte da damit dann das dass dein deine dem den denn der des dich die dies diese diesem diesen
    dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch fur gegen gibt habe haben hast hatte hier ich ihm ihn
    ihr ihre ihren im ist ja jede jeder jetzt kann kannst kein keine keinen konnen konnte mach mache mal mein meine meinem meinen meiner mich mir
    mit mochte muss nach nicht nichts noch nur ob oder ohne schon sehr sein seine sich sie sind soll uber um und uns unser unsere unter vom von
    vor wann warum weil welche welcher welches wenn wer werden wie wir wird wo wurde zu zum zur`,
    // French
    `alors apres au aussi aux avec bien ce ces cet cette chez comme comment dans de depuis des donc dont du elle elles en entre est et etre eux
    fait il ils je la le les leur leurs lui ma mais merci mes moi mon ne nos notre nous ont ou par pas peut peux plus pour pourquoi pouvez quand
    que quel quelle quelles quels qui quoi sa sans se ses si sont sous sur svp ta te tes toi ton tous tout toute toutes tres tu un une vers veux
    vos votre voudrais vous y`,
    // Spanish
    `al como con cual cuando de del desde donde e el ella ellas ellos entre era esa esas ese eso esos esta estan estar estas este esto estos fue
    gracias han hasta hay la las le les lo los mas me mi mis muy nos nuestra nuestro o otra otro para pero por porque puede puedes puedo que quien
    quiero quisiera se segun ser si sobre su sus tambien te tengo tiene toda todas todo todos tu tus u un una unas uno unos y ya yo`,
    // Italian
    `abbiamo agli alla alle allo anche che chi con cosi cui dagli dai dal dalla degli dei del della delle dello di ed essere fra gia gli grazie
    ho il le lei loro mia mie miei mio molto nei nel nella noi non nostra nostro per perche piu poi posso puo puoi quale quali quanto quella quello
    questa queste questi questo sei siamo sono sua sul sulla suo tra tua tuo tutti tutto una uno voi vorrei`,
    // Portuguese
    `ao aos aquela aquele ate com da das dela dele do ela ele eles em essa esse esta estao este eu foi gostaria isso isto ja mais mas meu meus
    minha minhas muito na nao nas nem nossa nosso obrigada obrigado onde ou para pela pelo pode por porque posso quem quero sao se sem seu seus
    sim sua suas tambem tem tenho ter teu um uma umas uns voce`,
    // Dutch
    `aan als bent bij daar dan dat deze die dit dus een geen graag had heb hebben hebt heeft heel hem het hier hoe hun iets ik jij jou jouw jullie
    kan kunnen kunt maar meer met mij mijn moet naar niet niets nog nu onder ons onze ook op te tegen tot tussen uit van voor waarom waren wat
    wel welke wie wil willen wordt worden zij zijn zo zonder zou`,
    // Polish
    `albo bardzo bez bo byc by chce chcialbym co czy dla dlaczego do dziekuje gdy gdzie ich ile jak jaka jaki jakie jego jej jest juz kiedy kto
    lub ma maja mam mamy masz mi mnie moge moj moja moje moze na nad nas nie od oni ono oraz po prosze przed przez przy sa sie swoj ta tak te tego
    tej ten tez to tych tym tylko tym twoj twoja w wy z za ze zeby`,
  ].flatMap((words) => words.split(/\s+/)),
);
