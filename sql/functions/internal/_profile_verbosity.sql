create or replace function loom._profile_verbosity(p_texts text[]) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_mean numeric;
begin
  select avg(char_length(message)) into v_mean from unnest(p_texts) as message;
  return case when v_mean < 40 then 'concise' when v_mean < 160 then 'balanced' when v_mean >= 160 then 'detailed' end;
end
$$;
comment on function loom._profile_verbosity(text[]) is
  'How much a user writes, by the mean length of their messages in characters: under 40 concise, under 160 balanced, else detailed.';
