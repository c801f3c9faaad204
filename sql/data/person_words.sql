-- Words of the first and second person, in lower case: a question with one of them is about its user.
-- Those of languages written without spaces (ja, zh) are looked for anywhere. A particle of one language
-- that is a common word of another is left out. Reference data, applied with the functions.

delete from loom.person_word;
insert into loom.person_word (language, word)
select language, unnest(string_to_array(words, ' ')) from (values
  ('en', 'i me my mine myself we us our ours ourselves you your yours yourself'),
  ('de', 'ich mich mir mein meine meinem meinen meiner meines wir uns unser unsere unserem unseren unserer du dich dir dein deine deinem deinen deiner euch euer eure ihnen'),
  ('fr', 'je moi mon ma mes mien mienne nous notre nos tu toi ton tes vous votre vos'),
  ('es', 'yo mí mi mis mío mía conmigo nosotros nuestro nuestra nuestros nuestras tú ti tu tus tuyo usted ustedes'),
  ('ru', 'я меня мне мной мой моя моё мое мои моего моей моих мы нас нам наш наша наше наши ты тебя тебе твой твоя твои вы вас вам ваш ваша ваше ваши'),
  ('ja', '私 わたし 僕 ぼく 俺 おれ 自分 あなた 君の'),
  ('zh', '我 咱 你 您')
) as list (language, words);
