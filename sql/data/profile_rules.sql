-- What the rules of user profiles go by: words, in lower case, and patterns of what users say of
-- themselves. Reference data, applied with the functions; loom.profile reads this very file.

delete from loom.profile_word;
insert into loom.profile_word (kind, language, word)
select kind, language, unnest(string_to_array(words, ' ')) from (values
  ('common', 'en', 'the be is are was were am i you he she it we they me my your his her our their this that these those what which who how why when where and or but if because with without for from into to of in on at by about as not no yes do does did done have has had can could will would should shall may might must please thanks thank hello hi there here just like so than then too very want need make get use give show help explain write fix an a don t ll ve re didn doesn isn wasn aren won call'),
  ('common', 'de', 'der die das den dem des ein eine einen einem einer und oder aber nicht kein keine ist sind war waren bin bist sein habe hast hat haben hatte ich du er sie es wir ihr mich mir mein meine dein deine unser euch uns mit ohne für von zu zum zur auf aus bei nach über unter vor wie was wer warum wann wo welche bitte danke ja nein auch nur noch schon sehr wenn weil dass als kann kannst können könnte muss soll will wird werden würde möchte hallo guten tag'),
  ('common', 'fr', 'le la les un une des du de et ou mais ne pas plus est sont était suis es êtes être ai as avons avez ont avoir je tu il elle on nous vous ils elles me moi mon ma mes ton ta tes son sa ses notre votre leur ce cette ces que qui quoi dont où comment pourquoi quand avec sans pour par dans sur sous chez entre très bien aussi merci bonjour salut oui non peux peut pouvez veux voudrais faire fait s plaît cela ça'),
  ('common', 'es', 'el la los las un una unos unas y o pero no sí es son era soy eres está están estoy ser estar he has ha hemos han haber yo tú él ella nosotros ellos me mi mis tu tus su sus nuestro que quién qué cuál cómo por porque cuándo dónde con sin para de del al en sobre entre hasta desde muy también más menos gracias hola buenos días favor puedo puede puedes quiero necesito hacer hace este esta esto ese esa eso'),
  ('casual', 'en', 'hey yo lol lmao thx thanx gonna wanna gotta dude bro bruh btw imo nah yep yup nope yeah haha omg sup kinda dunno cheers'),
  ('casual', 'de', 'hey hi hallöchen moin servus na jo nö ne joa krass geil digga alter lol tschüssi danki jep nee haste kannste'),
  ('casual', 'ru', 'привет приветик здорово ок окей ладно хай хей чё че щас спс пасиб пожалста норм круто блин ага лол короче пока чувак братан'),
  ('formal', 'en', 'sir madam dear sincerely regards respectfully kindly hereby herewith pursuant esteemed'),
  ('formal', 'de', 'geehrte geehrter geehrten hochachtungsvoll ihnen herr frau freundlichen freundliche hiermit bezüglich verbindlichst'),
  ('formal', 'ru', 'здравствуйте пожалуйста благодарю уважаемый уважаемая уважаемые господин госпожа уважением будьте'),
  ('role', 'en', 'dev developer engineer programmer designer analyst architect administrator sysadmin admin manager scientist researcher teacher professor student writer editor journalist lawyer accountant nurse doctor physician consultant founder freelancer marketer tester translator photographer musician artist chef economist biologist physicist chemist mathematician statistician librarian electrician mechanic pilot therapist pharmacist dba sre'),
  ('technology', 'en', 'python javascript typescript java kotlin swift rust go golang c c++ c# f# ruby php perl r julia scala clojure haskell elixir erlang lua dart zig ocaml fortran cobol matlab bash powershell sql plpgsql html css sass react vue angular svelte next.js node.js node deno bun django flask fastapi litestar rails laravel spring .net numpy pandas pytorch tensorflow scikit-learn postgresql postgres mysql mariadb sqlite oracle mongodb redis cassandra clickhouse elasticsearch kafka rabbitmq docker kubernetes terraform ansible jenkins git linux aws azure gcp graphql'),
  ('no_name', 'en', 'a an the i me my asap back later soon when if what whatever anything tomorrow today tonight now monday tuesday wednesday thursday friday saturday sunday maybe crazy stupid lazy old once twice collect anytime not only this that')
) as listed (kind, language, words);

-- For texts in any case. Only what regular expressions of PostgreSQL and of Python both know; {role} and
-- {technology} stand for the words of that kind. The first group is empty, or holds the word before that makes
-- it no statement: looking back for whole words would read a text from its start for every match. The second
-- group is the value.
delete from loom.profile_pattern;
insert into loom.profile_pattern (place, fact_key, holds, pattern) values
  (1, 'role', '', $$((?:if|imagine|suppose|pretend|like) |(?<![\w'’]))I(?: am|['’]m) (?:currently |also |still |just )?an? ((?:(?!(?:of|for|to|and|or|who|with|in|at|that|the|a|an|not|from|as|by|on|but) )[\w+#./-]+ ){0,3}{role})(?![\w'’-])$$),
  (2, 'role', 'i work as a', $$((?:if|imagine|suppose) |(?<![\w'’]))I work as an? ((?:(?!(?:of|for|to|and|or|who|with|in|at|that|the|a|an|not|from|as|by|on|but) )[\w+#./-]+ ){0,3}{role})(?![\w'’-])$$),
  (3, 'tech_stack', 'i ', $$((?:if|do|did|can|could|should|would) |(?<![\w'’]))I (?:mostly |mainly |usually |also |often )?(?:write|use|code in|program in|work with|build with|develop in|develop with) (?:mostly |mainly )?({technology}(?:(?:, and |, | and | & |/){technology})*)(?![\w+#])$$),
  (4, 'name', 'my name', $$((?:if|pretend|say) |(?<![\w'’]))my name(?: is|['’]s) ([\w'’-]+(?: [\w'’-]+){0,2})$$),
  (5, 'name', 'call me', $$((?:don't|don’t|not|never|didn't|didn’t) |(?<![\w'’]))call me ([\w'’-]+(?: [\w'’-]+){0,2})$$),
  (6, 'timezone', 'my time', $$(if |(?<![\w'’]))my time ?zone is (?:the )?([a-z]+/[a-z_+-]+(?:/[a-z_]+)?|(?:UTC|GMT)(?: ?[+-] ?[0-9]{1,2}(?::[0-9]{2})?)?|AEDT|AEST|CEST|EEST|WEST|NZST|NZDT|CET|EET|WET|EST|EDT|PST|PDT|CST|CDT|MST|MDT|BST|IST|JST|KST|MSK|SGT|HKT)(?![\w/])$$),
  (7, 'timezone', 'zone', $$(if |(?<![\w'’]))I(?: am|['’]m) in (?:the )?([a-z]+/[a-z_]+(?:/[a-z_]+)?) time ?zone(?!\w)$$);

-- Filled in once, here: the longest word first, so that none hides one that begins with it.
update loom.profile_pattern
set pattern = replace(replace(pattern, '{role}', roles), '{technology}', technologies)
from (
  select '(?:' || string_agg(escaped, '|' order by length(word) desc, word) filter (where kind = 'role') || ')' as roles,
    '(?:' || string_agg(escaped, '|' order by length(word) desc, word) filter (where kind = 'technology') || ')'
      as technologies
  from loom.profile_word
  cross join lateral (select regexp_replace(word, '([.+*?^$(){}|\[\]])', '\\\1', 'g') as escaped) as literal
) as named;
