create or replace function loom._user_profile_topics(p_topics jsonb) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_longest integer;
begin
  if coalesce(p_topics, 'null') = 'null' then
    return true;
  end if;
  perform loom._check_strings(p_topics, 'topics');
  select max(char_length(topic)) into v_longest from jsonb_array_elements_text(p_topics) as topic;
  if v_longest > 200 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'topics', 'limit', 200, 'value', v_longest)::text,
      hint = 'A topic has at most 200 characters.';
  end if;
  return true;
end
$$;
comment on function loom._user_profile_topics(jsonb) is
  'Checks the topics of a delta: a list of texts of at most 200 characters, or nothing. LM001, LM406.';
