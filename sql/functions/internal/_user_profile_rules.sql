create or replace function loom._user_profile_rules(p_own text[]) returns jsonb
language plpgsql stable parallel safe
as $$
declare
  v_texts text[] := array_remove(array(
    select loom._prose(message) from unnest(p_own) with ordinality as told (message, place) order by place), '');
  v_all text := array_to_string(v_texts, E'\n');
  v_words text[];
  v_language text;
begin
  if v_texts = '{}' then
    return '{}';
  end if;
  v_words := loom._profile_words(v_all);
  v_language := loom._profile_language(v_all, v_words);
  return jsonb_build_object('fact_ops', loom._profile_facts(v_texts),
    'traits', jsonb_build_object('verbosity', loom._profile_verbosity(v_texts),
      'formality', loom._profile_formality(v_words, v_language)),
    'preferences', jsonb_build_object('language', v_language),
    'source', 'rules');
end
$$;
comment on function loom._user_profile_rules(text[]) is
  'What rules tell of a user by the user''s own messages, as a delta: verbosity by length, language by script and common words, formality by markers, and facts in the first person. No model is called.';
